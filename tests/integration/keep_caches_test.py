#!/usr/bin/env python3
"""Caches that a project's sandboxes leave to later ones, and what a hostile command cannot leave."""
import contextlib
import os
import shutil
import sys
from pathlib import Path

from daemon_client import daemon
from mcp_client import client, sandbox_of
from support import Skip, Suite, call, expect, expect_equal, expect_refusal, read_line, scratch, start, wait_until
from workspace_fixture import changes_of, shell

suite = Suite()

# Settings of programs and other places from which a later command would take orders.
SETTINGS = [".bashrc", ".profile", ".npmrc", ".netrc", ".gitconfig", ".cargo/config.toml", ".config/pip/pip.conf",
            ".gradle/init.d/evil.gradle", ".m2/settings.xml", ".local/bin/cc", "go/bin/go"]


def state():
    return Path(os.environ["NUTSHELL_STATE_DIR"]) / "caches"


@contextlib.contextmanager
def projects(*names):
    """Directories of projects without kept caches; what their sandboxes keep goes with them."""
    with scratch() as directory:
        made = [directory / name for name in names]
        for project in made:
            project.mkdir()
        try:
            yield made
        finally:
            shutil.rmtree(state(), ignore_errors=True)


def run_in(project, text, *flags, keeps=True):
    words = ["--keep-caches"] if keeps else []
    return call("run", *words, "--workspace", str(project), *flags, "--", "sh", "-c", text)


def output_of(project, text, *flags, keeps=True):
    ended = run_in(project, text, *flags, keeps=keeps)
    expect_equal(ended.status, 0, f"{text!r}: {ended!r}")
    return ended.stdout.decode()


FILL = "mkdir -p ~/.cache/pip/a && echo wheel > ~/.cache/pip/a/b && chmod 755 ~/.cache/pip/a/b"
SHOW = "cat ~/.cache/pip/a/b 2>/dev/null || echo none"


@suite.case
def the_next_run_finds_the_caches_of_the_last():
    with projects("one") as (project,):
        expect_equal(output_of(project, f"{SHOW}; {FILL}"), "none\n", "the first run")
        for _ in range(3):
            expect_equal(output_of(project, SHOW), "wheel\n", "a later run")
        expect_equal(output_of(project, "stat -c %a ~/.cache/pip/a/b; ls -A ~"), "755\n.cache\n", "mode, HOME")
        expect_equal(list(project.iterdir()), [], "the project on the host")


@suite.case
def only_sandboxes_that_keep_caches_of_the_same_project_find_them():
    with projects("one", "two") as (one, two):
        output_of(one, FILL)
        expect_equal(output_of(two, SHOW), "none\n", "another project")
        expect_equal(output_of(one, SHOW, keeps=False), "none\n", "without the flag")
        expect_equal(output_of(one, f"{FILL}; echo new > ~/.cache/pip/a/b", keeps=False), "", "it changes nothing")
        expect_equal(output_of(one, SHOW), "wheel\n", "the project itself")


@suite.case
def caches_stay_however_the_sandbox_ends():
    with projects("one") as (project,):
        flags = ("--keep-caches", "--workspace", str(project))
        for name, ttl, is_destroyed in (("destroyed", "300s", True), ("its ttl was over", "2s", False)):
            made = call("create", *flags, "--ttl", ttl).stdout.decode().strip()
            shell(made, f"{FILL}; echo {name} > ~/.cache/pip/a/b; echo x > /workspace/made")
            if is_destroyed:
                expect_equal(call("destroy", made).status, 0, "destroy")
            else:
                expect(wait_until(lambda: made not in call("list", "--json").stdout.decode(), 30), "it still lives")
            expect_equal(output_of(project, "cat ~/.cache/pip/a/b"), name + "\n", "the next run")
            expect_equal(list(changes_of(made)), ["made"], "the saved changes have no caches")


@suite.case
def a_run_that_is_killed_keeps_nothing_of_its_own():
    with projects("one") as (project,):
        output_of(project, FILL)
        run = start("run", "--keep-caches", "--workspace", str(project), "--", "sh", "-c",
                    "mkdir -p ~/.cache/pip/a; echo evil > ~/.cache/pip/a/b; echo ready; sleep 60")
        expect(b"ready" in read_line(run), "the command runs")
        run.kill()
        run.communicate(timeout=30)
        expect_equal(output_of(project, SHOW), "wheel\n", "the caches")


@suite.case
def a_command_leaves_no_settings_for_later_ones():
    with projects("one") as (project,):
        text = "; ".join(f"mkdir -p $(dirname ~/{name}); echo evil > ~/{name}" for name in SETTINGS)
        output_of(project, f"{text}; {FILL}; ln -s /workspace ~/.cache/uv; ln -s ~ ~/.cargo/registry")
        found = output_of(project, "cd; find . -mindepth 1 | sort")
        expect_equal(found.split(), ["./.cache", "./.cache/pip", "./.cache/pip/a", "./.cache/pip/a/b"], "HOME")


@suite.case
def links_and_special_files_in_caches_lead_nowhere():
    with projects("one") as (project,), scratch() as outside:
        secret = outside / "secret"
        secret.write_text("of the host\n")
        text = (f"mkdir -p ~/.cache/pip ~/go/pkg/mod && cd ~/.cache/pip && ln -s {secret} key && ln -s / root && "
                "ln -s ../../.. up && mkfifo pipe && truncate -s 1m sparse && echo x > closed && chmod 0 closed && "
                "echo x > \"$(printf 'new\\nline')\" && echo x > -rf && mkdir -p a/b && chmod 555 a/b && "
                "rm -r ~/.cache/ccache; ln -s /etc ~/.cache/ccache")
        output_of(project, text)
        found = output_of(project, "cd ~/.cache/pip; cat key 2>&1 | tail -c 27; readlink root up; find . -mindepth 1 -maxdepth 1 -printf x | wc -c; "
                                   "test -e pipe || echo no pipe; test -e ~/.cache/ccache || echo no link; "
                                   "echo more > a/b/c")
        expect("of the host" not in found, found)
        expect(found.endswith("/\n../../..\n8\nno pipe\nno link\n") or
               found.endswith("/\n../../..\n7\nno pipe\nno link\n"), f"links stay links: {found!r}")
        expect(list(outside.iterdir()) == [secret] and secret.read_text() == "of the host\n", "the host's files")


@suite.case
def a_home_that_is_a_link_keeps_nothing():
    with projects("one") as (project,):
        output_of(project, FILL)
        output_of(project, "rm -r /tmp/home; ln -s /etc /tmp/home")
        expect_equal(output_of(project, SHOW), "wheel\n", "the caches")


@suite.case
def caches_are_bounded():
    with projects("one") as (project,):
        output_of(project, FILL)
        for attack in ("head -c 9m /dev/zero > ~/.cache/pip/big", "truncate -s 15m ~/.cache/pip/big",
                       "cd ~/.cache/pip; head -c 1m /dev/zero > 0; for i in $(seq 20); do ln 0 $i; done"):
            output_of(project, f"mkdir -p ~/.cache/pip; {attack}", "--disk", "16m")
            ended = run_in(project, SHOW)
            expect(b"were not kept: they have more than half" in ended.stderr, f"{attack}: {ended!r}")
            expect_equal(ended.stdout, b"wheel\n", "the caches before")
        output_of(project, "head -c 6m /dev/zero > ~/.cache/pip/big", "--disk", "16m")
        expect_refusal(run_in(project, "true", "--disk", "4m"), "keep-caches", "--disk")
        expect_equal(output_of(project, "stat -c %s ~/.cache/pip/big", "--disk", "16m"), f"{6 << 20}\n", "with room")


@suite.case
def caches_stay_through_a_daemon():
    with daemon() as one, projects("one") as (project,):
        where = {**one.environment(), "NUTSHELL_DAEMON": one.socket}

        def through(*words):
            ended = call(*words, env=where)
            expect_equal(ended.status, 0, f"{words}: {ended!r}")
            return ended.stdout.decode()
        flags = ("--keep-caches", "--workspace", str(project))
        made = through("create", *flags).strip()
        expect_equal(through("exec", made, "--", "sh", "-c", f"{SHOW}; {FILL}"), "none\n", "the first sandbox")
        through("destroy", made)
        expect_equal(through("run", *flags, "--", "sh", "-c", SHOW), "wheel\n", "a run")
        by_api = one.make(workspace=str(project), keep_caches="yes")
        expect_equal(one.execute(by_api, "sh", "-c", SHOW)["stdout"], "wheel\n", "by the API")
        expect_equal(through("run", *flags[1:], "--", "sh", "-c", SHOW), "none\n", "without the flag")


@suite.case
def caches_stay_between_servers_of_mcp():
    with projects("one") as (project,):
        for wanted in ("none", "wheel"):
            with client("--keep-caches", cwd=project) as server:
                expect(wanted in server.text("bash", command=f"{SHOW}; {FILL}"), f"{wanted} is not there")
                made = sandbox_of(server)
            expect_equal(call("destroy", made).status, 0, "destroy")


def whole_caches():
    return [path for path in state().iterdir() if not path.suffix]


@suite.case
def damaged_caches_are_removed_and_said():
    with projects("one") as (project,):
        output_of(project, FILL)
        # Files with an ending are unfinished, or say why caches were not kept.
        wait_until(lambda: len(whole_caches()) == 1)
        (kept,) = whole_caches()
        expect_equal(kept.stat().st_mode & 0o777, 0o600, "who may read them")
        os.truncate(kept, kept.stat().st_size - 3)
        ended = run_in(project, SHOW)
        expect(ended.stdout == b"none\n" and b"damaged" in ended.stderr, f"{ended!r}")


@suite.case
def sandboxes_at_the_same_time_leave_whole_caches():
    with projects("one") as (project,):
        flags = ("--keep-caches", "--workspace", str(project))
        made = [call("create", *flags).stdout.decode().strip() for _ in range(3)]
        for number, one in enumerate(made):
            shell(one, f"mkdir -p ~/.cache/pip && for i in 1 2 3; do echo {number} > ~/.cache/pip/$i; done")
        expect_equal(call("destroy", *made).status, 0, "destroy")
        found = output_of(project, "cd ~/.cache/pip && cat 1 2 3").split()
        expect(len(found) == 3 and len(set(found)) == 1, f"the files of one sandbox: {found}")


@suite.case
def what_cannot_keep_caches_says_so():
    expect_refusal(call("run", "--keep-caches", "--", "true"), "keep-caches", "--workspace")
    with projects("one") as (project,):
        expect_equal(output_of(project, "echo ok", "--keep-caches=no", keeps=False), "ok\n", "no")


@suite.case
def a_compiler_uses_what_an_earlier_run_compiled():
    if shutil.which("ccache", path="/usr/bin") is None or shutil.which("cc", path="/usr/bin") is None:
        raise Skip("ccache and a C compiler are missing")
    with projects("one") as (project,):
        (project / "a.c").write_text("int main(void) { return 0; }\n")
        build = "ccache -z >/dev/null; ccache cc -c a.c -o /tmp/a.o && ccache --print-stats | grep -E '_hit'"
        hits = [sum(int(line.split()[-1]) for line in output_of(project, build).splitlines()
                    if line.startswith(("direct_cache_hit", "preprocessed_cache_hit"))) for _ in range(2)]
        expect_equal(hits, [0, 1], "hits of ccache")


if __name__ == "__main__":
    sys.exit(suite.run())
