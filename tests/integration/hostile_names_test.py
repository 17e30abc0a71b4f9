#!/usr/bin/env python3
"""Names, labels and messages that try to move the cursor, forge lines or hide text, printed by every
command that shows them, and given to a model by every tool."""
import json
import os
import re
import sys

from daemon_client import daemon
from support import Suite, call, create, destroy, expect, expect_equal, scratch

suite = Suite()

# Colours, a cleared screen, a forged row, a control of eight bits, text that runs backwards, tags
# that spell out an instruction, a line separator.
HOSTILE = ("x\x1b[2J\x1b[31m\nM  /etc/forged\r\tnutshell: all is well\x7f\u009b31m\u202egpj.exe"
           "\U000e0041\U000e0042\u2028\u200b")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                    "\U000e0000-\U000e0fff]")


def expect_safe(text, who, forged="/etc/forged"):
    found = UNSAFE.search(text)
    expect(not found, f"{who} prints {found and found.group()!r}: {text!r}")
    for line in text.splitlines():
        expect(not line.startswith(("M  " + forged, "nutshell: all is well")),
               f"{who} prints a forged line: {text!r}")


def shown_by(*words):
    ended = call(*words)
    for text in (ended.stdout, ended.stderr):
        expect_safe(text.decode(), "nutshell " + " ".join(words[:2]))
    return ended


def name_of_a_file():
    return HOSTILE.replace("/", "-")


def make_hostile_file(sandbox):
    ended = call("exec", sandbox, "--env", f"NAME={name_of_a_file()}", "--", "sh", "-c",
                 'echo "$NAME" > "$NAME"; chmod +x "$NAME"; ln -s "$NAME" "link$NAME"; '
                 'mkdir "dir$NAME"; echo 1 > "dir$NAME/f"')
    expect_equal(ended.status, 0, f"{ended!r}")


@suite.case
def commands_about_sandboxes_show_labels_as_text():
    made = create("--label", f"a={HOSTILE}")
    try:
        for words in (("list",), ("list", "--json"), ("info", made), ("info", made, "--json"),
                      ("stats",), ("stats", made), ("history", made)):
            shown_by(*words)
        listed = json.loads(call("list", "--json").stdout)
        labels = next(one for one in listed if one["id"] == made)["labels"]
        expect_equal(labels["a"], HOSTILE, "JSON has the exact label")
    finally:
        destroy(made)


@suite.case
def commands_about_files_show_names_as_text():
    with scratch() as directory:
        made = create("--workspace", str(directory))
        try:
            make_hostile_file(made)
            for words in (("diff", made), ("diff", made, "--stat"), ("diff", made, "--json"),
                          ("cp", f"{made}:/workspace", str(directory / "copied"))):
                shown_by(*words)
            changes = json.loads(call("diff", made, "--json").stdout)["changes"]
            expect(name_of_a_file() in [one["path"] for one in changes],
                   f"JSON has the exact name: {changes}")
            shown_by("apply", made)
        finally:
            destroy(made)


@suite.case
def errors_show_names_as_text():
    for words in (("exec", HOSTILE, "--", "true"), ("destroy", HOSTILE), ("run", "--image", HOSTILE,
                  "--", "true"), ("create", "--workspace", "/nowhere/" + HOSTILE), (HOSTILE,),
                  ("image", "show", HOSTILE), ("cp", HOSTILE + ":/x", "/tmp"), ("list", "--label",
                  HOSTILE), ("run", "--env", HOSTILE, "--", "true"), ("run", "--", HOSTILE)):
        ended = shown_by(*words)
        expect(ended.status != 0, f"{words[:2]} is refused")


@suite.case
def the_end_of_a_command_is_told_as_text():
    shown = call("run", "--json", "--", "sh", "-c", 'printf "%s" "$0"', HOSTILE).stdout.decode()
    expect_safe(shown, "run --json")
    expect_equal(json.loads(shown)["stdout"], HOSTILE, "JSON has the exact output")


@suite.case
def a_model_sees_every_character_that_is_there():
    made = create()
    try:
        make_hostile_file(made)
        name = name_of_a_file()
        hidden = re.compile("[\u200b\u2028-\u202e\U000e0000-\U000e0fff]")
        for tool, arguments in (("bash", {"command": "ls; cat x*"}), ("ls", {}),
                                ("read", {"path": "copy"}), ("find", {"name": "*"}),
                                ("grep", {"pattern": "forged"}), ("read", {"path": name}),
                                ("git", {"arguments": [name]}), ("delete", {"path": name}),
                                ("edit", {"path": name, "old": "x", "new": name}),
                                ("recall", {"output": name}), ("diff", {})):
            call("exec", made, "--", "sh", "-c", "cat x* > copy")
            for form in ((), ("--json",)):
                ended = call("tool", "call", tool, "-s", made, json.dumps(arguments), *form)
                text = ended.stdout.decode()
                if form and text:
                    text = json.dumps(json.loads(text), ensure_ascii=False)
                found = hidden.search(text)
                expect(not found, f"{tool} gives a model {found and found.group()!r}: {text!r}")
    finally:
        destroy(made)


@suite.case
def commands_through_a_daemon_show_names_as_text():
    with daemon() as one:
        os.environ["NUTSHELL_DAEMON"] = one.socket
        try:
            made = one.call("POST", "/v1/sessions", {"name": "s", "labels": {"a": HOSTILE}})
            expect_equal(made.status, 200, f"{made.body}")
            one.call("POST", "/v1/sessions", {"name": HOSTILE})
            for words in (("session", "list"), ("session", "show", "s"), ("list",), ("pool", "list"),
                          ("pool", "acquire", HOSTILE), ("session", "show", HOSTILE)):
                shown_by(*words)
            shown_by("audit", "show", "--directory", str(one.directory / "state" / "audit"))
            shown_by("audit", "show", "--json", "--directory", str(one.directory / "state" / "audit"))
        finally:
            del os.environ["NUTSHELL_DAEMON"]


if __name__ == "__main__":
    sys.exit(suite.run())
