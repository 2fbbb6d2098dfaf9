#!/usr/bin/env bash
# ./run on a machine without ccache, of stand-ins: ccache is used by the call that installs it.
# shellcheck disable=SC2016  # what the stand-ins expand
set -euo pipefail

source=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"
cp "$source/run" .

# stand_in NAME: a program NAME, its script read from stdin.
stand_in() {
  { echo '#!/bin/bash' && cat; } >"bin/$1"
  chmod +x "bin/$1"
}

mkdir bin
for tool in bash cat cmp comm dirname env flock grep mkdir readlink sed sort; do
  ln -s "$(command -v "$tool")" "bin/$tool"
done
stand_in dpkg-query <<<'for name in "${@:3}"; do [[ $name == ccache ]] || echo "$name installed"; done'
stand_in apt-get <<<'[[ $* != *install*ccache* ]] || { echo "#!/bin/bash" >bin/ccache; /bin/chmod +x bin/ccache; }'
stand_in sudo <<<'while [[ $1 == -* ]]; do shift; done; exec "$@"'
stand_in cmake <<<'echo "launcher: ${CMAKE_CXX_COMPILER_LAUNCHER:-none}" >configured'
stand_in ninja <<<'echo "no work to do"'
mkdir -p build/cpu
ln -s /bin/true build/cpu/sfnn

HOME=$root PATH=$root/bin CCACHE_DIR='' CMAKE_CXX_COMPILER_LAUNCHER='' ./run demo >output 2>&1 || { cat output >&2; exit 1; }
[[ $(<configured) == "launcher: ccache" ]] || { cat output configured >&2; exit 1; }
