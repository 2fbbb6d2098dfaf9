#!/usr/bin/env bash
# tests/suite.sh on two small suites that it runs by CTest: what the closing lines say of failures.
set -euo pipefail

# shellcheck source=tests/suite.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/suite.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

say() { printf 'run: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
broken() { cat output >&2; printf 'suite_test.sh: %s\n' "$*" >&2; exit 1; }

# closing PRESET...: what ./run test prints after the last suite.
closing() {
  (for preset in "$@"; do run_tests "$preset" "$preset"; done >suites && conclude) >output 2>&1
}

# shows LINE...: whether these lines stand in the output, one below the other.
shows() {
  [[ $'\n'$(<output)$'\n' == *$'\n'"$(printf '%s\n' "$@")"$'\n'* ]] || broken "does not say: $*"
}

cat >CMakePresets.json <<'EOF'
{
  "version": 4,
  "configurePresets": [
    {"name": "first", "generator": "Ninja", "binaryDir": "${sourceDir}/build/first"},
    {"name": "second", "generator": "Ninja", "binaryDir": "${sourceDir}/build/second"}
  ],
  "testPresets": [
    {"name": "first", "configurePreset": "first", "output": {"outputOnFailure": true}},
    {"name": "second", "configurePreset": "second", "output": {"outputOnFailure": true}}
  ]
}
EOF
mkdir -p build/first build/second
cat >build/first/CTestTestfile.cmake <<'EOF'
add_test(good true)
add_test([=[bad "one" <1>]=] sh -c "seq 1 30; echo '1 < 2 && 2 > 1' >&2; exit 3")
add_test(silent false)
add_test(cases printf "[ RUN      ] A.B\\n[       OK ] A.B\\n\\nA.C: 1 is not 2\\n[  FAILED  ] A.C\\n[==========] 2 tests ran.\\n")
set_tests_properties(cases PROPERTIES FAIL_REGULAR_EXPRESSION FAILED)
add_test(absent /nowhere/at/all)
add_test(not_here sh -c "echo 'skipped: no such machine'; exit 77")
set_tests_properties(not_here PROPERTIES SKIP_RETURN_CODE 77)
EOF
cat >build/second/CTestTestfile.cmake <<'EOF'
add_test(good sh -c [=[test -z "$SFNN_CALLED_AS"]=])
EOF

export SFNN_CALLED_AS="./run sfnn"  # as ./run has it; a test that runs the program must not see it

! closing first second || broken "failures of the first suite are forgotten"
shows 'first failed: bad "one" <1>' "$(seq -f '    %g' 17 30)" '    1 < 2 && 2 > 1' 'first failed: silent' \
  'first failed: cases' '    A.C: 1 is not 2' '    [  FAILED  ] A.C'
shows 'first failed: absent' '    Unable to find executable: /nowhere/at/all' '' \
  'first: 1 passed, 4 failed, 1 skipped' 'second: 1 passed, 0 failed, 0 skipped' \
  'total: 2 passed, 4 failed, 1 skipped' 'run: failed: first'

closing second || broken "failed without a failure"
[[ $(<output) == $'\nsecond: 1 passed, 0 failed, 0 skipped\ntotal: 1 passed, 0 failed, 0 skipped' ]] ||
  broken "says more than the totals"
