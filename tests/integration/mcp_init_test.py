#!/usr/bin/env python3
"""`nutshell mcp init` on files as people have them, and `nutshell mcp doctor` on what it wrote."""
import json
import os
import re
import sys
import tomllib
from pathlib import Path

from support import NUTSHELL, Suite, call, expect, expect_equal, scratch

suite = Suite()
PROJECT = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json",
           "gemini": ".gemini/settings.json"}
HOME = {"claude-desktop": ".config/Claude/claude_desktop_config.json", "codex": ".codex/config.toml",
        "zed": ".config/zed/settings.json", "goose": ".config/goose/config.yaml"}


def mcp(*words, home, **settings):
    if words[:2] == ("init", "claude-desktop"):  # it starts servers outside of any project
        words = (*words, "--workspace", str(home))
    return call("mcp", *words, cwd=home, env={**os.environ, "HOME": str(home)}, **settings)


@suite.case
def every_client_is_written_tried_and_undone():
    for name, path in {**PROJECT, **HOME}.items():
        with scratch() as home:
            file = home / path
            dry = mcp("init", name, "--dry-run", home=home)
            expect(dry.status == 0 and b"nutshell" in dry.stdout, f"{name}: {dry!r}")
            expect(not file.exists(), f"{name}: a dry run has written")
            expect_equal(mcp("init", name, home=home).status, 0, f"init {name}")
            expect_equal(file.read_bytes(), dry.stdout, f"{name}: as the dry run said")
            again = mcp("init", name, home=home)
            expect(b"nothing to change" in again.stdout, f"{name}: {again!r}")
            tried = mcp("doctor", name, home=home)
            place = f"workspace: {home.resolve()}" if name == "claude-desktop" else "workspace: "
            expect(place in tried.stdout.decode(), f"doctor {name}: {tried!r}")
            expect(tried.status == 0 and tried.stdout.count(b"ok ") == 6, f"doctor {name}: {tried!r}")
            expect_equal(mcp("init", name, "--undo", home=home).status, 0, f"undo {name}")
            expect(NUTSHELL.encode() not in file.read_bytes(), f"{name}: still there")
            expect(mcp("doctor", name, home=home).status != 0, f"{name}: doctor finds nothing")


@suite.case
def doctor_starts_the_server_with_that_clients_path():
    own = os.environ["PATH"] + ":/opt/of/the/shell"
    for name, path in (("claude-desktop", "/usr/local/bin:/usr/bin:/bin"), ("claude-code", own)):
        with scratch() as home:
            expect_equal(mcp("init", name, home=home).status, 0, f"init {name}")
            file = home / {**PROJECT, **HOME}[name]
            program = home / "program"
            program.write_text(f'#!/bin/sh\necho "$PATH" > {home}/path\nexec {NUTSHELL} "$@"\n')
            program.chmod(0o755)
            file.write_text(file.read_text().replace(f'"{NUTSHELL}"', f'"{program}"'))
            tried = call("mcp", "doctor", name, cwd=home, env={**os.environ, "HOME": str(home), "PATH": own})
            expect_equal(tried.status, 0, f"doctor {name}: {tried!r}")
            expect_equal((home / "path").read_text(), path + "\n", f"PATH of {name}'s server")


@suite.case
def the_skill_is_short_and_names_tools_that_are_there():
    skill = (Path(__file__).resolve().parents[2] / "packaging/skill/nutshell/SKILL.md").read_text()
    expect(len(skill.encode()) <= 2000, "every session pays for a long one")
    tools = {line.split()[0] for line in call("tool", "list").stdout.decode().splitlines()}
    named = set(re.findall(r"sandbox_[a-z]+", skill))
    expect(len(named) >= 10, f"{named}")
    expect_equal(named - tools, set(), "tools that are not there")


@suite.case
def every_example_of_the_skill_runs():
    skill = (Path(__file__).resolve().parents[2] / "packaging/skill/nutshell/SKILL.md").read_text()
    examples = re.findall(r"`(sandbox_[a-z]+) (\{.*?\})`", skill, re.DOTALL)
    expect({name for name, _ in examples} >= {"sandbox_read", "sandbox_edit", "sandbox_bash"}, f"{examples}")
    sandbox = call("create").stdout.decode().strip()
    try:
        call("exec", sandbox, "--", "sh", "-c", "git init -q; printf 'class A:\\n  x = 1\\n' > a.py")
        for name, arguments in examples:
            done = call("tool", "call", name, "-s", sandbox, arguments)
            expect_equal(done.status, 0, f"{name} {arguments}: {done!r}")
    finally:
        call("destroy", sandbox)


@suite.case
def existing_settings_stay():
    with scratch() as home:
        file = home / ".mcp.json"
        before = '{\n  "mcpServers": {\n    "other": { "command": "x" }\n  },\n  "more": [1]\n}\n'
        file.write_text(before)
        os.chmod(file, 0o600)
        expect_equal(mcp("init", "claude-code", home=home).status, 0, "init")
        written = json.loads(file.read_text())
        expect_equal(written["mcpServers"]["other"], {"command": "x"}, "the other server")
        expect_equal(written["mcpServers"]["nutshell"]["args"], ["mcp"], "ours")
        expect_equal(file.stat().st_mode & 0o777, 0o600, "mode")
        mcp("init", "claude-code", "--undo", home=home)
        expect_equal(file.read_text(), before, "after the undo")


@suite.case
def toml_keeps_its_other_tables():
    with scratch() as home:
        file = home / ".codex/config.toml"
        file.parent.mkdir()
        before = '# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"\n'
        file.write_text(before)
        mcp("init", "codex", home=home)
        written = tomllib.loads(file.read_text())
        expect_equal(written["mcp_servers"]["nutshell"]["args"], ["mcp"], "ours")
        expect_equal(written["mcp_servers"]["other"]["command"], "y", "the other server")
        expect(file.read_text().startswith(before), "what was there")
        mcp("init", "codex", "--undo", home=home)
        expect_equal(file.read_text(), before, "after the undo")


@suite.case
def a_link_stays_a_link():
    with scratch() as home:
        target = home / "dotfiles.json"
        target.write_text("{}")
        (home / ".mcp.json").symlink_to(target)
        mcp("init", "claude-code", home=home)
        expect((home / ".mcp.json").is_symlink(), "the link was replaced")
        expect("nutshell" in target.read_text(), "what it leads to")


@suite.case
def a_file_that_is_not_understood_is_not_touched():
    with scratch() as home:
        file = home / ".mcp.json"
        for text in ("[1]", "{", '{"mcpServers": 5}', "not json"):
            file.write_text(text)
            ended = mcp("init", "claude-code", home=home)
            expect(ended.status == 125 and b"mcpServers" in ended.stdout, f"{text}: {ended!r}")
            expect_equal(file.read_text(), text, "the file")


@suite.case
def flags_for_the_server_stand_behind_dashes():
    with scratch() as home:
        mcp("init", "claude-code", "--", "--profile", "readonly", home=home)
        written = json.loads((home / ".mcp.json").read_text())
        expect_equal(written["mcpServers"]["nutshell"]["args"], ["mcp", "--profile", "readonly"], "args")
        expect_equal(mcp("doctor", "claude-code", home=home).status, 0, "doctor")


@suite.case
def doctor_leaves_no_sandbox_and_finds_a_broken_command():
    with scratch() as home:
        before = call("list", "-q").stdout
        expect_equal(mcp("doctor", home=home).status, 0, "doctor")
        told = json.loads(mcp("doctor", "--json", home=home).stdout)
        expect(told["ok"] and len(told["steps"]) == 5, f"doctor --json: {told}")
        expect_equal(call("list", "-q").stdout, before, "sandboxes")
        (home / ".mcp.json").write_text(json.dumps(
            {"mcpServers": {"nutshell": {"command": "/bin/false", "args": []}}}))
        ended = mcp("doctor", "claude-code", home=home)
        expect(ended.status != 0, f"{ended!r}")


@suite.case
def desktop_client_needs_a_directory():
    with scratch() as home:
        environment = {**os.environ, "HOME": str(home)}
        refused = call("mcp", "init", "claude-desktop", cwd=home, env=environment)
        expect(refused.status == 125 and b"--workspace DIR" in refused.stderr, f"{refused!r}")
        empty = call("mcp", "init", "claude-desktop", "--", "--no-project", cwd=home, env=environment)
        expect_equal(empty.status, 0, "without a project")
        gone = call("mcp", "init", "claude-desktop", "--workspace", "/none", cwd=home, env=environment)
        expect(gone.status == 125 and b"/none" in gone.stderr, f"{gone!r}")


@suite.case
def own_tools_of_a_client_are_named_and_denied():
    with scratch() as home:
        told = mcp("init", "claude-code", home=home)
        expect(b"Bash, Edit and Write" in told.stderr and b"--exclusive" in told.stderr, f"{told!r}")
        settings = home / ".claude/settings.json"
        expect(not settings.exists(), "nothing is denied without the flag")
        expect_equal(mcp("init", "claude-code", "--exclusive", home=home).status, 0, "exclusive")
        denied = json.loads(settings.read_text())["permissions"]["deny"]
        expect({"Bash", "Edit", "Write"} <= set(denied), f"{denied}")
        expect_equal(mcp("init", "claude-code", "--undo", "--exclusive", home=home).status, 0, "undo")
        expect_equal(json.loads(settings.read_text())["permissions"]["deny"], [], "allowed again")
        expect_equal(mcp("init", "gemini", "--exclusive", home=home).status, 0, "gemini")
        written = json.loads((home / ".gemini/settings.json").read_text())
        expect("run_shell_command" in written["tools"]["exclude"], f"{written}")
        expect("nutshell" in written["mcpServers"], "the server too")
        by_hand = mcp("init", "codex", "--exclusive", home=home)
        expect(b"shell_tool = false" in by_hand.stderr, f"{by_hand!r}")


@suite.case
def unknown_client_is_told_which_there_are():
    with scratch() as home:
        ended = mcp("init", "emacs", home=home)
        expect(ended.status == 125 and b"claude-code" in ended.stderr, f"{ended!r}")


if __name__ == "__main__":
    sys.exit(suite.run())
