#!/bin/bash
# End-to-end checks of the limits on a host with cgroup v2; tests/guest/run starts it in the guest.
# Usage: NUTSHELL_BIN=PATH checks.sh root|user|delegated. Prints a line PASS, FAIL or SKIP for each
# check, and what it had to say below the line if it did not pass.
set -u
readonly identity=$1
readonly nutshell=${NUTSHELL_BIN:?}
readonly skipped=77
scope=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
readonly scope=${scope%/}

run() { timeout 60 "$nutshell" run "$@"; }

skip() { # REASON
  echo "$1"
  exit $skipped
}

expect() { # WHAT WANTED GOT
  [[ $3 == "$2" ]] && return
  echo "$1: wanted '$2', got '$3'"
  exit 1
}

expect_at_most() { # WHAT LIMIT GOT
  [[ $3 =~ ^[0-9]+$ ]] && (($3 <= $2)) && return
  echo "$1: wanted at most $2, got '$3'"
  exit 1
}

# Runs a function in a subshell, where it may exit, and prints the verdict.
check() { # FUNCTION
  local said status name="$identity: ${1//_/ }"
  said=$("$1" 2>&1)
  status=$?
  ((${#said} <= 4000)) || said="… ${said: -4000}"
  case $status in
    0) echo "PASS $name" ;;
    "$skipped") echo "SKIP $name: $said" ;;
    *) printf 'FAIL %s (status %s)\n    %s\n' "$name" $status "${said//$'\n'/$'\n'    }" ;;
  esac
}

has_cgroup() { [[ $identity != user ]]; }

field() { python3 -c "import json, sys; print(json.load(sys.stdin)$1)"; } # PYTHON-SUBSCRIPT

protection() { # NAME FIELD, from doctor's answer on standard input
  python3 -c '
import json, sys
found = [p for p in json.load(sys.stdin)["protections"] if p["name"] == sys.argv[1]]
print(found[0][sys.argv[2]] if found else "no protection " + sys.argv[1])' "$@"
}

user_processes() { ps --ppid 2 -p 2 --deselect -o pid= | wc -l; } # kernel threads have parent 2

cgroups() { find /sys/fs/cgroup -type d | sort; }

wait_until() { # SECONDS COMMAND…
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

is_running() { pgrep -f "^sleep $1\$" >/dev/null; } # NUMBER
is_gone() { ! is_running "$1"; }
has_settled() { (($(user_processes) <= $1)); } # COUNT

# ---- What doctor says

doctor_names_what_keeps_memory() {
  local answer
  answer=$("$nutshell" doctor --json)
  if has_cgroup; then
    expect "strength" hard "$(protection memory strength <<<"$answer")"
    [[ $(protection memory by <<<"$answer") == *"cgroup v2"* ]] || expect by "cgroup v2" "$answer"
  else
    expect "strength" watched "$(protection memory strength <<<"$answer")"
    [[ -n $(protection memory fix <<<"$answer") ]] || expect fix "a way to have it hard" ""
  fi
}

a_hard_memory_limit_can_be_demanded() {
  run --require memory=hard -- true
  local status=$?
  if has_cgroup; then
    expect status 0 $status
  else
    ((status != 0)) || expect status "a refusal" 0
  fi
}

info_names_cgroup_v2() {
  has_cgroup || skip "no cgroup to write to"
  local id answer
  id=$("$nutshell" create --memory 64m) || expect "create" 0 $?
  answer=$("$nutshell" info "$id")
  "$nutshell" stop "$id" || expect "stop" 0 $?
  [[ $answer == *"cgroup v2"* ]] || expect info "cgroup v2" "$answer"
}

# ---- Statuses

status_is_that_of_the_command() {
  run -- bash -c 'exit 7'
  expect status 7 $?
}

timeout_gives_124() {
  run --timeout 1s -- sleep 60
  expect status 124 $?
}

# ---- Processes

process_limit_holds() {
  local count
  count=$(run --pids 32 -- python3 -c '
import os, signal
count = 0
try:
    while count < 500:
        if os.fork() == 0:
            signal.pause()
        count += 1
except BlockingIOError:
    pass
print(count)')
  expect_at_most "processes forked" 32 "$count"
  ((count >= 16)) || expect "processes forked" "16 to 32" "$count"
}

fork_bomb_stays_inside_and_ends_with_its_sandbox() {
  local before most=0 now bomb
  before=$(user_processes)
  run --pids 32 -- bash -c ':(){ :|:& };: ; sleep 3' 2>/dev/null & # it complains thousands of times
  bomb=$!
  while kill -0 $bomb 2>/dev/null; do
    now=$(user_processes)
    ((now > most)) && most=$now
    sleep 0.1
  done
  # The bomb, and few of our own: run, timeout, launcher, init, ps and its pipe.
  expect_at_most "processes beside those before" 45 $((most - before))
  ((most - before >= 16)) || expect "processes beside those before" "a bomb" $((most - before))
  wait_until 5 has_settled "$before" || expect "processes after" "$before" "$(user_processes)"
}

# ---- Memory

# Ends with status 3 if nobody stops it at 256 MB.
readonly hog='
blocks = []
while len(blocks) < 256:
    blocks.append(b"x" * (1 << 20))
raise SystemExit(3)'

memory_hog_is_stopped() {
  local answer status
  answer=$(run --memory 64m --json -- python3 -c "$hog")
  status=$?
  expect status 137 $status
  expect outcome out_of_memory "$(field '["outcome"]' <<<"$answer")"
}

# The kernel may take one child or all: what counts is that the sum did not pass.
memory_is_counted_over_all_processes() {
  local status
  run --memory 64m -- python3 -c '
import os, time
for child in range(8):
    if os.fork() == 0:
        block = b"x" * (16 << 20)
        time.sleep(10)
        os._exit(0)
ends = [os.wait()[1] for child in range(8)]
raise SystemExit(4 if any(os.WIFSIGNALED(end) for end in ends) else 3)'
  status=$?
  ((status == 4)) || expect status 137 $status
}

memory_below_the_limit_is_left_alone() {
  run --memory 128m -- python3 -c 'print(len(b"x" * (48 << 20)))'
  expect status 0 $?
}

# ---- What is left behind

kill_9_leaves_no_cgroup_after_gc() {
  has_cgroup || skip "no cgroup to write to"
  local before during sandbox
  run -- true || expect "a first run" 0 $?
  "$nutshell" gc || expect "gc before" 0 $?
  before=$(cgroups)
  "$nutshell" run -- sleep 4242 &
  sandbox=$!
  wait_until 20 is_running 4242 || expect "sleep in the sandbox" running absent
  during=$(cgroups)
  [[ $during != "$before" ]] || expect "cgroups" "one more" "the same"
  kill -9 $sandbox
  wait_until 10 is_gone 4242 || expect "sleep after kill -9" gone running
  "$nutshell" gc || expect "gc after" 0 $?
  diff <(echo "$before") <(cgroups)
}

kill_9_leaves_no_process() {
  "$nutshell" run -- bash -c 'setsid sleep 4343 & setsid sleep 4343 & sleep 4343' &
  local sandbox=$!
  wait_until 20 is_running 4343 || expect "sleep in the sandbox" running absent
  kill -9 $sandbox
  wait_until 10 is_gone 4343 || expect "sleep after kill -9" gone running
}

# ---- Ways to have a group of one's own

# As with systemd-run --user --scope -p Delegate=yes: nothing but us in a group that is ours.
works_alone_in_a_delegated_group() {
  [[ $identity == delegated ]] || skip "only with delegation"
  local lone=${scope%/shell}/lone status
  mkdir "$lone"
  setfattr -n user.delegate -v 1 "$lone"
  (
    echo $BASHPID >"$lone/cgroup.procs"
    exec "$nutshell" run --require memory=hard --memory 64m -- python3 -c "$hog"
  )
  status=$?
  expect status 137 $status
}

# A shell of a user with a service manager stands in a leaf below groups that belong to the user.
stand_in_a_leaf() {
  mkdir "$scope/shell"
  echo $$ >"$scope/shell/cgroup.procs"
  echo "+cpu +memory +pids" >"$scope/cgroup.subtree_control"
}

[[ $identity != delegated ]] || stand_in_a_leaf

check doctor_names_what_keeps_memory
check a_hard_memory_limit_can_be_demanded
check info_names_cgroup_v2
check status_is_that_of_the_command
check timeout_gives_124
check process_limit_holds
check fork_bomb_stays_inside_and_ends_with_its_sandbox
check memory_hog_is_stopped
check memory_is_counted_over_all_processes
check memory_below_the_limit_is_left_alone
check kill_9_leaves_no_cgroup_after_gc
check kill_9_leaves_no_process
check works_alone_in_a_delegated_group
