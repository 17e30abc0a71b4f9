#!/usr/bin/env python3
"""Runs the suites of tools, workspaces and commands, which native sandboxes pass, on every other backend:
the same cases, with the backend's flags on every create and run.

UNABLE is what a backend cannot do, by case and reason. Every commit runs a few cases of each suite;
scripts/test --full runs them all.
"""
import json
import os
import subprocess
import sys
import tempfile

from engines import engine
from gvisor_program import find_runsc
from suite_image import put_into
from support import REPOSITORY, Failed, Suite, expect, is_full

HERE = REPOSITORY / "tests/integration"
suite = Suite()

BACKENDS = ("docker", "runsc", "podman", "gvisor")
# The cases of each suite that run without --full; empty: none.
CASES = {
    "tools": "files_are_written_read_and_edited changes_of_commands_are_taken_back "
             "large_outputs_lose_no_byte_and_count_what_is_not_kept",
    "workspace": "diff_lists_every_change_and_nothing_else an_unsafe_mount_is_direct",
    "workspace_states": "",
    "workspace_kills": "",
    "workspace_apply": "apply_writes_everything_back",
    "workspace_copy": "a_directory_that_does_not_fit_is_not_copied",
    "tools_bad_input": "",
    "git_traps": "",
    "exec_contract": "",
    "exec_streams": "",
    "terminal": "",
}
# The suites that run without --full on a backend whose engine or kernel another backend covers.
FEW_OF = {"podman": ("tools",), "runsc": ("tools", "workspace_apply")}

OWNERS = "only native translates owners: elsewhere it is uid 1000 who reads"
MOUNTS = "a container's table of mounts names the directories of the host that it was given"
UNSEEN = "the host does not see the processes of gVisor's kernel"
OF_GVISOR = dict.fromkeys((
    "a_server_outlives_its_exec_but_not_its_sandbox", "a_server_ends_at_its_execs_timeout",
    "a_timeout_kills_the_whole_tree", "a_fork_bomb_hurts_only_itself",
    "a_reader_that_never_reads_delays_no_deadline", "an_interrupt_with_json_still_gives_one_answer",
    "the_death_of_the_cli_is_the_commands"), UNSEEN)
UNABLE = {
    "any": {"a_file_system_without_translation_is_copied": OWNERS,
            "a_copy_holds_only_files_that_the_owner_may_read": OWNERS},
    "docker": {"the_store_and_the_hosts_paths_do_not_show": MOUNTS,
               "the_store_and_the_hosts_paths_do_not_show_when_copied": MOUNTS},
    "runsc": OF_GVISOR,
    "podman": {"the_store_and_the_hosts_paths_do_not_show": MOUNTS,
               "the_store_and_the_hosts_paths_do_not_show_when_copied": MOUNTS},
    "gvisor": OF_GVISOR,
}


def flags_of(backend):
    """Returns the backend's flags, with its engine started and an image in it."""
    if backend == "gvisor":
        find_runsc()
        return "--backend gvisor"
    where = engine(backend)
    with tempfile.TemporaryDirectory(prefix="nutshell-image-") as directory:
        image = put_into(where, directory)
    more = " --runtime runsc" if backend == "runsc" else ""
    return f"--backend {where.backend} --image {image}{more}"


def run_on(backend, name, cases):
    flags = flags_of(backend)  # first: it puts the engine into the environment
    # Every case, with few repetitions: repetitions test code above the backends.
    environment = {**os.environ, "NUTSHELL_FULL": "", "NUTSHELL_TEST_FLAGS": flags,
                   "NUTSHELL_TEST_WITHOUT": json.dumps({**UNABLE["any"], **UNABLE[backend]})}
    done = subprocess.run([sys.executable, str(HERE / f"{name}_test.py"), *cases], env=environment,
                          text=True, capture_output=True, timeout=3000, check=False)
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    if bad or done.returncode != 0:
        raise Failed("; ".join(bad) or done.stdout[-300:] + done.stderr[-300:])
    passed = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    expect(passed >= max(1, len(cases)), f"too few ran: {done.stdout[-300:]}")


def chosen(backend, name):
    """Names of cases; an empty list means all of them, None means that the suite is left out."""
    if is_full():
        return []
    return CASES[name].split() or None if name in FEW_OF.get(backend, CASES) else None


def add(backend, name, cases):
    def case():
        run_on(backend, name, cases)
    case.__name__ = f"{name}_on_{backend}"
    suite.case(case)


for backend in BACKENDS:
    for name in CASES:
        cases = chosen(backend, name)
        if cases is not None:
            add(backend, name, cases)


if __name__ == "__main__":
    sys.exit(suite.run())
