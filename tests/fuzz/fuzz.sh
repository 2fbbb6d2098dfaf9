# shellcheck shell=bash
# ./run fuzz [NAME]... [--minutes N]. Sourced by run, whose say and fail it uses.

# Sets targets and minutes, or says what is wrong and exits with 2.
read_fuzz_arguments() {
  local all=() target
  minutes=1 targets=()
  for target in tests/fuzz/*_fuzz.cpp; do all+=("$(basename "$target" _fuzz.cpp)"); done
  while (($#)); do
    if [[ $1 == --minutes && ${2:-} =~ ^[0-9]+$ ]]; then
      minutes=$2
      shift
    elif [[ " ${all[*]} " == *" $1 "* ]]; then
      targets+=("$1")
    else
      say "fuzz: '$1' is neither --minutes N nor one of ${all[*]}"
      exit 2
    fi
    shift
  done
  ((${#targets[@]})) || targets=("${all[@]}")
}

fuzz_targets() {
  local target failed=()
  for target in "${targets[@]}"; do
    fuzz_target "$target" $((60 * minutes)) || failed+=("$target")
  done
  ((${#failed[@]} == 0)) || fail "findings in: ${failed[*]}"
}

# fuzz_target NAME SECONDS: from the seeds and what earlier runs have added to them, until the time is
# over or an input breaks a demand. Prints executions and findings; fails if there is one.
fuzz_target() {
  local name=$1 seeds=tests/fuzz/corpus/$1 earlier=tests/fuzz/regressions/$1
  local grown=build/fuzz/corpus/$1 findings=build/fuzz/findings/$1 log=build/fuzz/$1.log count
  mkdir -p "$grown" "$findings"
  [[ -d $earlier ]] || earlier=
  rm -f "$findings"/*
  # Not quoted: no regressions, no argument.
  # shellcheck disable=SC2086
  build/fuzz/tests/fuzz/"${name}_fuzz" -max_total_time="$2" -max_len=16384 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$findings/" "$grown" "$seeds" $earlier >"$log" 2>&1 || true
  count=$(find "$findings" -type f | wc -l)
  printf 'fuzz %s: %d executions, %d findings\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$count"
  grep -q '^stat::number_of_executed_units' "$log" || { tail -n 20 "$log" >&2; return 1; }
  ((count == 0)) && return
  say "see $log; mend it, and keep the input: mv $findings/* tests/fuzz/regressions/$name/"
  return 1
}
