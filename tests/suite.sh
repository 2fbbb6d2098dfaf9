# shellcheck shell=bash disable=SC2154
# ./run test and ./run check. Sourced by run, whose root, build, say and fail it uses.

totals=(0 0 0)  # passed, failed, skipped
summary=()      # one line per suite
reports=()      # of each suite with failures: the failed tests and what they printed last
failed=()       # the names of these suites

# suite PRESET [CTEST ARG]...: builds all and runs what the test preset PRESET runs.
suite() {
  build "$1" "$(test_options "$1")" all
  run_tests "$1" "$@"
}

# thorough_suite PRESET [CTEST ARG]...: the same with what is labelled thorough.
thorough_suite() {
  build "$1" "$(test_options "$1")" all thorough
  run_tests "$1" "$1-any" "${@:2}"
}

# check PRESET NAME: builds and runs the tests that NAME stands for, with any label.
check() {
  local preset=$1 list=build/$1/tests/test_list.txt names targets cases
  build "$preset" "$(test_options "$preset")" --quiet build.ninja  # writes the list
  mapfile -t names < <(tests_for "$list" "$2")
  if ((${#names[@]} == 0)); then
    say "check: no test of build/$preset is called '$2', nor is it a source with tests; near: $(near_names "$list" "$2")"
    exit 2
  fi
  if [[ ${names[*]} == *python.* ]]; then
    make_venv tests/python/requirements.txt
    build "$preset" "$(test_options "$preset")" --quiet build.ninja  # now perhaps with the Python module
  fi
  mapfile -t targets < <(targets_of "$list" "${names[@]}")
  ((${#targets[@]} == 0)) || build "$preset" "$(test_options "$preset")" "${targets[@]}"
  cases=$(IFS='|' && printf '^(%s)(\\.|$)' "${names[*]//./\\.}")
  if [[ ! -e $2 ]] && ! is_listed "$list" "$2"; then cases=$2; fi
  run_tests "$preset" "$preset-any" -R "$cases" -E '_NOT_BUILT$'
  if ((totals[0] + totals[1] + totals[2] == 0)); then
    say "check: no case of ${names[*]} matches '$2'"
    exit 2
  fi
  conclude
}

test_options() {
  if [[ $1 == asan || $1 == tsan ]]; then
    echo SFNN_TESTS
  elif "$root/build/venv/bin/python" -c 'import nanobind' 2>/dev/null; then
    echo SFNN_TESTS SFNN_BENCH SFNN_MODULE
  else
    echo SFNN_TESTS SFNN_BENCH
  fi
}

# ---------------------------------------------------------------------------------- running

# run_tests PRESET TEST_PRESET [CTEST ARG]...: prints one line per test, then why some skipped.
# Adds to totals, summary, reports and failed.
run_tests() {
  local preset=$1 junit=$root/build/$1/tests.xml count=(0 0 0) report='' fixed_addresses=() i
  shift
  printf '\n== %s\n' "$preset"
  rm -f "$junit"
  # g++ 13's thread sanitizer dies at start if the kernel spreads addresses as wide as Ubuntu's.
  [[ $preset == tsan ]] && setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)
  # Tests run the program itself, from folders in which a relative path to this script leads nowhere.
  env --unset=SFNN_CALLED_AS "${fixed_addresses[@]}" ctest --preset "$1" --parallel "$(nproc)" --output-junit "$junit" "${@:2}" |
    sed -u '/^ *Start  *[0-9]*: /d' || failed+=("$preset")
  skip_reasons "build/$preset/Testing/Temporary/LastTest.log"
  if [[ -f $junit ]]; then
    mapfile -t count < <(counts "$junit")
    report=$(failures "$preset" "$junit")
  fi
  [[ -z $report ]] || reports+=("$report")
  summary+=("$(printf '%s: %d passed, %d failed, %d skipped' "$preset" "${count[@]}")")
  for i in 0 1 2; do totals[i]=$((totals[i] + count[i])); done
}

# Prints the failures of all suites, which may have scrolled away, and the summary; exits with 1 if a test has failed or none
# has run.
conclude() {
  ((${#reports[@]} == 0)) || printf '\n%s\n' "${reports[@]}"
  printf '\n'
  printf '%s\n' "${summary[@]}"
  printf 'total: %d passed, %d failed, %d skipped\n' "${totals[@]}"
  ((totals[0] + totals[1] + totals[2])) || fail "no test has run"
  ((${#failed[@]} == 0)) || fail "failed: ${failed[*]}"
}

# counts JUNIT: passed, failed, skipped.
counts() {
  test_cases "$1" 0 | awk '/^passed / {++passed} /^failed / {++failed} /^skipped / {++skipped}
    END {printf "%d\n%d\n%d\n", passed, failed, skipped}'
}

# failures PRESET JUNIT: the failed tests, each with the last lines that it printed.
failures() {
  test_cases "$2" 15 | awk -v preset="$1" '/^[a-z]/ {shown = sub(/^failed /, preset " failed: ")} shown'
}

# test_cases JUNIT LINES: "passed NAME", "failed NAME" or "skipped NAME", and below it, indented, the last LINES lines of its
# output, but for the frame that GoogleTest puts around it. To CTest, what it could not start was skipped; only what skipped
# itself is taken for that here.
test_cases() {
  awk -v keep="$2" '
    function text(xml) {gsub(/&lt;/, "<", xml); gsub(/&gt;/, ">", xml); gsub(/&quot;/, "\"", xml); gsub(/&amp;/, "\\&", xml); return xml}
    /^\t<testcase / {
      result = / status="run"/ ? "passed" : "failed"
      name = $0
      sub(/.*<testcase name="/, "", name)
      sub(/" classname=.*/, "", name)
      lines = 0
    }
    /^\t\t<skipped message="(SKIP_|Disabled)/ {result = "skipped"}
    /^\t\t<system-out>/ {inside = sub(/^\t\t<system-out>/, "")}
    inside {
      if (sub(/<\/system-out>$/, "")) inside = 0
      if (!/^\[( RUN +| +OK |-+|=+|  PASSED  )\]|^$/) output[lines++] = $0
    }
    /^\t<\/testcase>/ {
      print result, text(name)
      for (i = lines > keep ? lines - keep : 0; i < lines; ++i) print "    " text(output[i])
    }' "$1"
}

# GoogleTest gives the reason after the line "FILE:LINE: Skipped", scripts after "skipped: ".
skip_reasons() {
  awk '/: Skipped$/ {getline; ++count[$0]} /^skipped: / {++count[substr($0, 10)]}
    END {for (reason in count) printf "skipped %d: %s\n", count[reason], reason}' "$1"
}

# ---------------------------------------------------------------------------------- finding

# A line of LIST is "name:targets:sources", made by sfnn_list_test.

# tests_for LIST NAME: the names of the tests that NAME stands for, which is, in this order,
#   a name in the list                trainer
#   a source file                     host/train/pass.cpp: the tests of the same name (pass, pass_cuda), else of its folder
#   a folder                          host/train: the tests in tests/train; without any, of the folder above
#   a regular expression for ctest    trainer.*Resume: what stands before the first dot matches names in the list
tests_for() {
  local list=$1 name=${2%/} folder
  if is_listed "$list" "$name"; then
    echo "$name"
  elif [[ -e $name ]]; then
    name=$(realpath --relative-to . "$name")
    if [[ -f $name ]] && tests_of_stem "$list" "$(stem "$name")" | grep .; then return; fi
    folder=$name
    if [[ -f $name ]]; then folder=$(dirname "$name"); fi
    tests_of_folder "$list" "$folder"
  else
    cut -d : -f 1 "$list" | grep -E -- "^(${name%%.*})$" 2>/dev/null | sort -u | grep . ||
      cut -d : -f 1 "$list" | grep -E -- "${name%%.*}" 2>/dev/null | sort -u
  fi
}

is_listed() { cut -d : -f 1 "$1" | grep -qxF -e "$2"; }

# host/train/pass.cpp, tests/train/pass_test.cpp: pass
stem() { basename "$1" | sed -E 's/\.[a-z]+$//; s/_(test|fuzz)$//'; }

tests_of_stem() {
  awk -F : -v stem="$2" '{count = split($3, sources, " ")
    for (i = 1; i <= count; ++i) if (sources[i] ~ "/" stem "(_test|_fuzz)?\\.[a-z]+$") {print $1; break}}' "$1" | sort -u
}

tests_of_folder() {
  local folder=${2#host/}
  folder=tests/${folder#tests/}
  while [[ $folder == tests/* ]]; do
    if awk -F : -v folder="$folder/" 'index(" " $3, " " folder) {print $1}' "$1" | sort -u | grep .; then return; fi
    folder=$(dirname "$folder")
  done
}

targets_of() {
  local list=$1 name
  for name in "${@:2}"; do awk -F : -v name="$name" '$1 == name && $2 {print $2}' "$list" | tr ' ' '\n'; done | sort -u
}

# near_names LIST NAME: up to five names, by the number of letters to add, take away or change.
near_names() {
  cut -d : -f 1 "$1" | sort -u | awk -v wanted="$(stem "$2")" '
    function least(a, b) {return a < b ? a : b}
    function distance(a, b,   i, j, d) {
      for (i = 0; i <= length(a); ++i) d[i, 0] = i
      for (j = 0; j <= length(b); ++j) d[0, j] = j
      for (i = 1; i <= length(a); ++i)
        for (j = 1; j <= length(b); ++j)
          d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1, d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)))
      return d[length(a), length(b)]
    }
    {print distance(wanted, $1), $1}' | sort -n | head -n 5 | cut -d ' ' -f 2 | paste -s -d ' '
}
