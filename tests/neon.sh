#!/usr/bin/env bash
# Runs the CPU backend's tests as ARM64 code under qemu: tests/neon.sh [DIRECTORY]
#
# Needs g++-aarch64-linux-gnu and qemu-user. The ARM64 libraries come from the machine's own apt
# sources into DIRECTORY (build/neon), and are not installed.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
work=$(realpath -m "${1:-$root/build/neon}")
packages=(libhwy-dev libhwy1 libfmt-dev libfmt9 libgtest-dev libgmock-dev)
sources=(host/backend/*.cpp host/backend/cpu/*.cpp host/backend/plain/plain_backend.cpp)
tests=(simd_math dense_product cpu_backend)  # in tests/backend

# apt with its own lists and nothing installed, as on an ARM64 machine.
apt_arm64() {
  apt-get -qq -o APT::Architecture=arm64 -o "Dir::State=$work/apt" -o "Dir::Cache=$work/apt" \
    -o Dir::State::status=/dev/null -o APT::Sandbox::User=root "$@"
}

mkdir -p "$work"/apt/{lists,archives}/partial
if [[ ! -d $work/usr ]]; then
  apt_arm64 update
  (cd "$work/apt" && apt_arm64 download "${packages[@]}")
  for package in "$work"/apt/*.deb; do dpkg-deb -x "$package" "$work"; done
fi

libraries=$work/usr/lib/aarch64-linux-gnu
compile=(aarch64-linux-gnu-g++ -std=c++20 -O2 "-I$root" "-I$root/host/public" "-I$work/usr/include")
cd "$root"
objects=()
for source in "${sources[@]}"; do
  object=$work/$(basename "$source" .cpp).o
  "${compile[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
for test in "${tests[@]}"; do
  "${compile[@]}" "tests/backend/${test}_test.cpp" "${objects[@]}" "-L$libraries" \
    -lgtest -lgmock -lgtest_main -lhwy -lfmt -lpthread \
    "-Wl,-rpath-link,$libraries,--allow-shlib-undefined" -o "$work/$test"
  QEMU_LD_PREFIX=/usr/aarch64-linux-gnu qemu-aarch64 \
    -E "LD_LIBRARY_PATH=$libraries" "$work/$test"
done
