# Adds up results. Every script that runs tests ends with one line `N passed, N failed, N skipped`; these
# functions read such lines and keep the sums in passed, failed and skipped. Sourced, not run.
# shellcheck shell=bash

passed=0 failed=0 skipped=0
readonly count_pattern='^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'

# Prints the last line of FILE that is not empty; fails if that is not a count line.
count_line_of() {
  local line
  line=$(sed '/^[[:space:]]*$/d' "$1" | tail -n 1)
  [[ $line =~ $count_pattern ]] && printf '%s\n' "$line"
}

add_counts() {
  [[ $1 =~ $count_pattern ]] || return 1
  passed=$((passed + 10#${BASH_REMATCH[1]}))
  failed=$((failed + 10#${BASH_REMATCH[2]}))
  skipped=$((skipped + 10#${BASH_REMATCH[3]}))
}

# Adds the count line of FILE, the output of a program that ended with STATUS. Counts and prints one failure
# if there is no such line, if it counts no test, or if STATUS is bad and the line counts no failure.
add_report() {
  local name=$1 file=$2 status=$3 line failed_before=$failed
  if ! line=$(count_line_of "$file"); then
    echo "FAIL $name: ended with status $status and without a line of counts"
    failed=$((failed + 1))
    return 0
  fi
  if [[ $line == "0 passed, 0 failed, 0 skipped" ]]; then
    echo "FAIL $name: ran no test"
    failed=$((failed + 1))
    return 0
  fi
  add_counts "$line"
  if ((status != 0 && failed == failed_before)); then
    echo "FAIL $name: counted no failure but ended with status $status"
    failed=$((failed + 1))
  fi
}

# Prints the count line, which must be the last; succeeds only if something passed and nothing failed.
finish_counts() {
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0 && passed > 0))
}
