#!/bin/bash
# End-to-end checks of the limits on a host with cgroup v2; tests/guest/run starts it in the guest.
# Usage: NUTSHELL_BIN=PATH checks.sh root|user|delegated|systemd|no-landlock. Prints a line PASS, FAIL or
# SKIP for each check, and what it had to say below the line if it did not pass.
set -u
readonly identity=$1
readonly nutshell=${NUTSHELL_BIN:?}
readonly skipped=77
scope=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
readonly scope=${scope%/}

run() { timeout 150 "$nutshell" run --timeout 120s "$@"; } # an emulated machine is slow

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
  "$nutshell" destroy "$id" || expect "destroy" 0 $?
  [[ $answer == *"cgroup v2"* ]] || expect info "cgroup v2" "$answer"
}

# ---- Statuses

status_is_that_of_the_command() {
  run -- bash -c 'exit 7'
  expect status 7 $?
}

timeout_gives_124() {
  "$nutshell" run --timeout 1s -- sleep 60
  expect status 124 $?
}

uptime_seconds() { awk '{ print int($1) }' /proc/uptime; }

# The machine's clock is put a day forward, then two days back.
clock_that_jumps_changes_no_deadline() {
  [[ $identity == root ]] || skip "only root sets the clock"
  local id began status
  id=$("$nutshell" create --ttl 10m) || expect create 0 $?
  "$nutshell" exec "$id" --timeout 4s -- sleep 60 &
  local sleeper=$!
  began=$(uptime_seconds)
  date -s '+1 day' >/dev/null
  sleep 1
  kill -0 $sleeper || expect "the command after a day" "still there" ended
  "$nutshell" exec "$id" -- true || expect "exec after a day" 0 $?
  date -s '-2 days' >/dev/null
  "$nutshell" exec "$id" -- true || expect "exec after the way back" 0 $?
  "$nutshell" run --timeout 2s -- sleep 60
  expect "status of a command that starts then" 124 $?
  wait $sleeper
  status=$?
  date -s '+1 day' >/dev/null
  expect status 124 $status
  expect_at_most "seconds until its timeout of 4" 20 $(($(uptime_seconds) - began))
  "$nutshell" destroy "$id" || expect destroy 0 $?
}

# ---- Processes

process_limit_holds() {
  local count
  count=$(run --processes 32 -- python3 -c '
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
  run --processes 32 -- bash -c ':(){ :|:& };: ; sleep 3' 2>/dev/null & # it complains thousands of times
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

# Without a cgroup the process's own wall stands before the watcher's: there Python is told that
# there is no more.
memory_hog_is_stopped() {
  local answer status
  answer=$(run --memory 64m --json -- python3 -c "$hog")
  status=$?
  if ! has_cgroup && ((status == 1)); then
    [[ $(field '["stderr"]' <<<"$answer") == *MemoryError* ]] || expect stderr MemoryError "$answer"
    return
  fi
  expect status 137 $status
  expect outcome out_of_memory "$(field '["outcome"]' <<<"$answer")"
}

shared_memory_hog_is_out_of_memory() {
  local answer status
  answer=$(run --memory 64m --json -- python3 -c '
import mmap
shared = mmap.mmap(-1, 256 << 20)
for page in range(0, 256 << 20, 4096):
    shared[page] = 1
raise SystemExit(3)')
  status=$?
  expect status 137 $status
  expect outcome out_of_memory "$(field '["outcome"]' <<<"$answer")"
}

# Else the kernel would put aside what is too much, and the hog would come through.
machine_has_swap_that_is_no_way_out() {
  has_cgroup || skip "no cgroup to write to"
  (($(awk '/^SwapTotal/ { print $2 }' /proc/meminfo) > 200000)) || expect swap "200 MB" none
  local before after
  before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
  run --memory 64m -- python3 -c "$hog"
  expect status 137 $?
  after=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
  expect_at_most "pages swapped out" 1000 $((after - before))
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

# A megabyte each time, so that never much of it is resident.
memory_that_was_put_aside_counts() {
  local status
  run --memory 64m -- python3 -c '
import mmap, os, time
put_aside = 21  # MADV_PAGEOUT
def hold():
    blocks = []
    for i in range(24):
        blocks.append(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        blocks[-1].write(os.urandom(1 << 20))
        blocks[-1].madvise(put_aside)
    time.sleep(3)
    os._exit(0)
for child in range(4):
    if os.fork() == 0: hold()
ends = [os.wait()[1] for child in range(4)]
raise SystemExit(4 if any(os.WIFSIGNALED(end) for end in ends) else 3)'
  status=$?
  ((status == 4)) || expect status 137 $status
}

memory_below_the_limit_is_left_alone() {
  run --memory 128m -- python3 -c 'print(len(b"x" * (48 << 20)))'
  expect status 0 $?
}

# ---- CPU

# Prints the share of one core that a busy loop gets, in percent.
share() { # FLAGS…
  run "$@" -- python3 -c '
import time
start, used = time.monotonic(), time.process_time()
while time.monotonic() < start + 4: pass
print(round(100 * (time.process_time() - used) / (time.monotonic() - start)))'
}

half_a_core_is_half_a_core() {
  local percent
  percent=$(share --cpus 0.5) || expect status 0 $?
  expect_at_most "percent of a core" 62 "$percent"
  ((percent >= 25)) || expect "percent of a core" "25 to 62" "$percent"
}

# Twice as many loops as the machine has cores, all in a sandbox with half a core.
spinning_on_all_cores_leaves_the_machine_to_others() {
  local sandbox percent began
  "$nutshell" run --timeout 60s --cpus 0.5 -- bash -c \
    'for i in 1 2 3 4; do while :; do :; done & done; sleep 4242' &
  sandbox=$!
  wait_until 20 is_running 4242 || expect "sleep in the sandbox" running absent
  began=$SECONDS
  percent=$(share)
  kill -9 $sandbox
  wait_until 10 is_gone 4242 || expect "sleep after kill -9" gone running
  # Without a cgroup both may have been given the same core; among five equals it would be 20.
  local least=60
  has_cgroup || least=30
  ((percent >= least)) || expect "percent of a core for a neighbour" "$least and more" "$percent"
  expect_at_most "seconds until it answered" 20 $((SECONDS - began))
}

# ---- Without Landlock

missing_landlock_is_refused_and_named() {
  local said status
  for command in "run -- true" create; do
    # shellcheck disable=SC2086  # words
    said=$("$nutshell" $command 2>&1)
    status=$?
    expect "status of $command" 125 $status
    [[ $said == *landlock*"cannot be kept"* ]] || expect "$command" "a refusal that names it" "$said"
  done
  expect sandboxes "[]" "$("$nutshell" list --json)"
}

doctor_fails_for_want_of_landlock() {
  local answer status
  answer=$("$nutshell" doctor --json)
  status=$?
  ((status != 0)) || expect status "not 0" 0
  expect strength missing "$(protection landlock strength <<<"$answer")"
  [[ $(protection landlock fix <<<"$answer") == *lsm=* ]] || expect fix "lsm=" "$answer"
}

its_absence_can_be_accepted_by_name_only() {
  run --unsafe-without landlock -- true || expect "status with it waived" 0 $?
  run --unsafe-without landlock --require landlock -- true
  expect "status when it is required too" 125 $?
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

# A user who is logged in stands in a scope of root's: his service manager gives him one of his own.
a_service_manager_gives_a_scope_and_takes_it_back() {
  [[ $identity == systemd ]] || skip "only with systemd"
  local id
  expect "what it prints" in "$(run --require memory=hard -- echo in)"
  id=$("$nutshell" create --require memory=hard) || expect create 0 $?
  expect "scopes of the launcher" 1 "$(own_scopes)"
  "$nutshell" destroy "$id" || expect destroy 0 $?
  wait_until 20 has_no_scopes || expect "scopes afterwards" 0 "$(own_scopes)"
}

own_scopes() { systemctl --user list-units --plain --no-legend 'nutshell-*.scope' | wc -l; }
has_no_scopes() { (($(own_scopes) == 0)); }

# Runs as without one: slower by the time for which it waits, and with the limits that init watches.
a_service_manager_that_hangs_is_not_waited_for() {
  [[ $identity == systemd ]] || skip "only with systemd"
  local manager began=$SECONDS
  manager=$(pgrep -u "$(id -u)" -x systemd) || expect "a service manager" there none
  kill -STOP "$manager"
  expect "what it prints" in "$(run -- echo in)"
  expect_at_most seconds 30 $((SECONDS - began))
  run --require memory=hard -- true && expect "a hard limit" refused accepted
  kill -CONT "$manager"
  expect "what it prints again" in "$(run --require memory=hard -- echo in)"
}

# A shell of a user with a service manager stands in a leaf below groups that belong to the user.
stand_in_a_leaf() {
  mkdir "$scope/shell"
  echo $$ >"$scope/shell/cgroup.procs"
  echo "+cpu +memory +pids" >"$scope/cgroup.subtree_control"
}

[[ $identity != delegated ]] || stand_in_a_leaf

if [[ $identity == no-landlock ]]; then
  check missing_landlock_is_refused_and_named
  check doctor_fails_for_want_of_landlock
  check its_absence_can_be_accepted_by_name_only
  exit
fi

check doctor_names_what_keeps_memory
check a_hard_memory_limit_can_be_demanded
check info_names_cgroup_v2
check status_is_that_of_the_command
check timeout_gives_124
check clock_that_jumps_changes_no_deadline
check process_limit_holds
check fork_bomb_stays_inside_and_ends_with_its_sandbox
check memory_hog_is_stopped
check shared_memory_hog_is_out_of_memory
check machine_has_swap_that_is_no_way_out
check memory_is_counted_over_all_processes
check memory_that_was_put_aside_counts
check memory_below_the_limit_is_left_alone
check half_a_core_is_half_a_core
check spinning_on_all_cores_leaves_the_machine_to_others
check kill_9_leaves_no_cgroup_after_gc
check kill_9_leaves_no_process
check works_alone_in_a_delegated_group
check a_service_manager_gives_a_scope_and_takes_it_back
check a_service_manager_that_hangs_is_not_waited_for
