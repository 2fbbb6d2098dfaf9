#!/usr/bin/env python3
"""Compiles the kernels and holds what ptxas reports against kernel_budget.txt: no spills, registers
and shared memory within budget, and an occupancy of at least 75 % by arithmetic on each device."""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

# Per multiprocessor: threads, blocks, bytes of shared memory (CUDA C++ Programming Guide, table of
# technical specifications). All have 65536 registers, given to a warp in units of 256.
DEVICES = {"sm_80": (2048, 32, 163 * 1024), "sm_90": (2048, 32, 227 * 1024),
           "sm_120": (1536, 24, 99 * 1024)}
REGISTERS, REGISTER_UNIT, SHARED_RESERVED = 65536, 256, 1024
LEAST_OCCUPANCY = 0.75


def occupancy(device, threads, registers, shared):
    max_threads, max_blocks, max_shared = DEVICES[device]
    per_warp = -(-registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
    warps = -(-threads // 32)
    blocks = min(max_threads // threads, max_blocks, REGISTERS // (per_warp * warps),
                 max_shared // (shared + SHARED_RESERVED))
    return blocks * threads / max_threads


def compile_report(nvcc, source, root):
    targets = [f"-gencode=arch=compute_{d[3:]},code={d}" for d in DEVICES]
    with tempfile.NamedTemporaryFile(suffix=".fatbin") as out:
        result = subprocess.run(
            [nvcc, "-std=c++17", "-O3", f"-I{root}", *targets, "-Xptxas=-v", "-fatbin",
             str(source), "-o", out.name], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{source} does not compile:\n{result.stderr}")
    return subprocess.run(["c++filt"], input=result.stderr, capture_output=True, text=True,
                          check=True).stdout


def parse(report):
    """(kernel, device, registers, shared bytes, spilled bytes) of every entry function."""
    entry = re.compile(r"Compiling entry function '(.*?)' for '(sm_\d+)'(.*?)Used (\d+) registers"
                       r"([^\n]*)", re.S)
    for name, device, between, registers, rest in entry.findall(report):
        kernel = re.sub(r"^void ", "", re.split(r"[<(]", name)[0])
        shared = re.search(r"(\d+) bytes smem", rest)
        spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", between))
        yield kernel, device, int(registers), int(shared.group(1)) if shared else 0, spilled


def main():
    nvcc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    budget = {}
    for line in (root / "tests/cuda/kernel_budget.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, threads, registers, shared, *rest = line.split()
            budget[name] = (int(threads), int(registers), int(shared), "single" in rest)
    faults, seen = [], set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda source: compile_report(nvcc, source, root),
                           sorted((root / "kernels").glob("*.cu")))
    for kernel, device, registers, shared, spilled in (e for r in reports for e in parse(r)):
        seen.add(kernel)
        if kernel not in budget:
            faults.append(f"{kernel} has no line in kernel_budget.txt")
            continue
        threads, most_registers, most_shared, single = budget[kernel]
        busy = occupancy(device, threads, registers, shared)
        print(f"{kernel:40} {device:7} {registers:3} registers {shared:5} bytes shared "
              f"{100 * busy:4.0f} %")
        if spilled:
            faults.append(f"{kernel} spills {spilled} bytes on {device}")
        if registers > most_registers or shared > most_shared:
            faults.append(f"{kernel} is over its budget on {device}")
        if busy < LEAST_OCCUPANCY and not single:
            faults.append(f"{kernel} keeps only {100 * busy:.0f} % of {device} busy")
    faults += [f"{kernel} is in kernel_budget.txt but not in kernels/" for kernel in budget if
               kernel not in seen]
    sys.exit("\n".join(faults) if faults else 0)


main()
