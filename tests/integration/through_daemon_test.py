#!/usr/bin/env python3
"""The suites of the command line, with every command going through a daemon."""
import os
import subprocess
import sys

from support import REPOSITORY, Failed, Suite, expect, is_full, repetitions

HERE = REPOSITORY / "tests/integration"
suite = Suite()

# The cases of each suite that every commit runs.
CASES = {
    "cli": "json_results_have_these_keys a_sandbox_keeps_what_commands_leave pause_and_resume "
           "create_settings_hold_for_every_exec limits_are_what_the_flags_say config_files "
           "destroy_says_what_it_could_not environment_and_directory arguments_arrive_as_given "
           "gc_finds_nothing_after_an_ordinary_life info_needs_no_sandbox",
    "cli_refusals": "only_ids_are_ids an_ambiguous_prefix_is_no_id impossible_values_are_refused",
    "exec_contract": "exit_codes_are_passed_on signals_are_told_from_exit_codes totals_are_real "
                     "status_137_has_four_meanings a_timeout_kills_the_whole_tree "
                     "a_run_takes_its_daemons_along the_idle_timeout_ends_a_sandbox",
    "exec_streams": "bytes_are_exact an_interrupt_reaches_the_command a_closed_reader_ends_the_writer "
                    "the_death_of_the_cli_is_the_commands all_output_comes_before_the_status",
    "workspace": "refusals_say_what_to_do an_unsafe_mount_is_direct",
    "workspace_states": "checkpoints_need_no_workspace "
                        "a_fork_has_the_same_environment_and_no_list_shows_it",
    "workspace_apply": "the_record_of_applied_files_goes_with_the_sandbox",
    "workspace_copy": "info_says_how_the_directory_came_in "
                      "the_copy_used_for_comparison_follows_apply",
    "tools": "outputs_go_with_their_sandbox wrong_calls_are_told_apart",
    "tools_bad_input": "",
    "terminal": "a_shell_in_a_terminal_has_job_control end_of_input_ends_a_terminals_reader",
}


def run_through(name, cases):
    done = subprocess.run([sys.executable, str(HERE / f"{name}_test.py"), *cases],
                          env={**os.environ, "NUTSHELL_THROUGH_DAEMON": "1"}, text=True,
                          capture_output=True, timeout=1800)
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    if bad or done.returncode != 0:
        raise Failed("; ".join(bad) or done.stdout[-300:] + done.stderr[-300:])
    last = done.stdout.strip().splitlines()[-1]
    expect(not last.startswith("0 passed") or "skipped" in last, f"nothing ran: {last}")


def add(name, cases):
    def case():
        run_through(name, cases)
    case.__name__ = f"{name}_through_a_daemon"
    suite.case(case)


for name, words in CASES.items():
    chosen = repetitions(words.split(), [])
    if chosen or is_full():
        add(name, chosen)


if __name__ == "__main__":
    sys.exit(suite.run())
