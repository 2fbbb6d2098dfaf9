#!/usr/bin/env bash
# bench/profile.sh with profilers that do no more than run the program they are given: SFNN is one
# that is linked to the simulator.
#
#   SFNN=PROGRAM tests/cuda/profile_script.sh
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'profile_script.sh: %s\n' "$*" >&2; exit 1; }

cat >"$work/ncu" <<'EOF'
#!/usr/bin/env bash
while [[ $1 != "$SFNN" ]]; do shift; done
exec "$@"
EOF
chmod +x "$work/ncu"
ln -s ncu "$work/nsys"
PATH=$work:$PATH

tiny=(--set data.limit=30 --set data.test_limit=8 --set net.hidden=4s --set train.batch=12
  --set train.particles=2 --set eval.particles=2)

# trained TOOL STEPS NAME [SFNN TRAIN ARG]...: how many epochs it trained for.
trained() {
  "$root/bench/profile.sh" --steps "$2" "$1" --out "$work/$3" "${tiny[@]}" "${@:4}" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "$*"; }
  wc -l <"$work/$3/metrics.jsonl"
}

# Three steps an epoch.
[[ $(trained nsys 1:2 plain --set train.epochs=4) == 4 ]] || fail "nsys: another number of epochs"
[[ $(trained ncu 2:3 first) == 1 ]] || fail "ncu: the run goes on after the epoch of the range"
[[ $(trained ncu 2:4 second --set train.epochs=9) == 2 ]] || fail "ncu: the run is not cut short"
