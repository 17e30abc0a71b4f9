# Shows how far a build is. Sourced, not run.
# shellcheck shell=bash

# Runs a command with its output in a file. On a terminal, shows the number of its current step.
run_with_progress() {
  local output=$1 runner step status=0
  shift
  if [[ ! -t 2 ]]; then
    "$@" >"$output" 2>&1
    return
  fi
  "$@" >"$output" 2>&1 &
  runner=$!
  trap 'kill "$runner" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$runner" 2>/dev/null; do
    step=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$output" | tail -n 1 || true)
    printf '\r%s ' "$step" >&2
    sleep 0.5
  done
  printf '\r%20s\r' '' >&2
  wait "$runner" || status=$?
  trap - INT TERM
  return "$status"
}
