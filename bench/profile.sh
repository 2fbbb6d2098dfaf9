#!/usr/bin/env bash
# Profiles some steps of a training run on a GPU. docs/profiling.md says what to look for.
#
#   bench/profile.sh [--steps A:B] [--out NAME] nsys [SFNN TRAIN ARG]...
#   bench/profile.sh [--steps A:B] [--out NAME] [--kernel REGEX] ncu [SFNN TRAIN ARG]...
#
# nsys: when everything ran (Nsight Systems); ncu: why a kernel takes as long (Nsight Compute).
# With nsys the run ends after the steps, with ncu at the end of their epoch.
# SFNN=PROGRAM names another build than build/release.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
program=${SFNN:-$root/build/release/sfnn}
steps=100:110 out='' kernel=''

fail() { printf 'profile.sh: %s\n' "$*" >&2; exit 2; }

while [[ ${1:-} == --* ]]; do
  [[ $# -ge 2 ]] || fail "$1 wants a value"
  case $1 in
    --steps) steps=$2 ;;
    --out) out=$2 ;;
    --kernel) kernel=$2 ;;
    *) fail "unknown option $1: use --steps, --out or --kernel" ;;
  esac
  shift 2
done
tool=${1:-}
[[ $tool == nsys || $tool == ncu ]] || fail "say which profiler: nsys or ncu"
shift
command -v "$tool" >/dev/null || fail "$tool is not in PATH: it comes with the CUDA toolkit"
[[ -x $program ]] || fail "there is no $program: cmake --preset release && ninja -C build/release sfnn"
out=${out:-$tool-${steps/:/-}}

# Launch by launch: in a graph's replay there are no ranges, and a kernel is not profiled alone.
run=("$program" train --device cuda --eager --profile-steps "$steps" "$@")

if [[ $tool == nsys ]]; then
  exec nsys profile --trace=cuda,nvtx,cublas --capture-range=cudaProfilerApi \
    --capture-range-end=stop-shutdown --cuda-memory-usage=true --stats=true \
    --force-overwrite=true --output="$out" "${run[@]}"
fi
# ncu cannot end the run: it gets no more epochs than it takes to reach the last of the steps.
plan=$("${run[@]}" --dry-run)
per_epoch=$(sed -n 's/.* epochs of \([0-9]*\) steps.*/\1/p' <<<"$plan")
epochs=$(((${steps#*:} + per_epoch - 1) / per_epoch))
# Clocks held at their base, caches emptied before each kernel: figures that can be compared.
exec ncu --profile-from-start off --set full --import-source yes --nvtx --clock-control base \
  --cache-control all ${kernel:+--kernel-name "regex:$kernel"} --force-overwrite --export "$out" \
  "${run[@]}" --set "train.epochs=$epochs" --set train.warmup_epochs=auto
