#!/usr/bin/env python3
"""Every tool through the real program on a real sandbox: what a model reads, and every error."""
import base64
import json
import os
import re
import struct
import sys
import time
import zlib
from pathlib import Path

from support import (REPOSITORY, Suite, call, expect, expect_equal, runtime_directory, sandbox,
                     scratch, start)
from tool_calls import Sandbox, fresh

suite = Suite()
NAMES = ["read", "write", "edit", "ls", "grep", "find", "git", "diff", "delete", "bash", "job",
         "recall", "undo"]


# The registry ------------------------------------------------------------------------------------

@suite.case
def registry_is_one_for_all():
    catalogue = json.loads(call("tool", "list", "--json").stdout)
    expect_equal([tool["name"] for tool in catalogue], ["sandbox_" + name for name in NAMES],
                 "names of the catalogue")
    table = call("tool", "list").stdout.decode()
    for tool in catalogue:
        expect(tool["name"] in table and tool["description"] in table, f"{tool['name']} not listed")
        described = json.loads(call("tool", "schema", tool["name"]).stdout)
        expect_equal(described["inputSchema"], tool["inputSchema"], f"schema of {tool['name']}")
        expect_equal(len(described["annotations"]), 4, "annotations")
        expect_equal(tool["inputSchema"]["additionalProperties"], False, "additionalProperties")


@suite.case
def documentation_is_made_from_the_registry():
    made = call("tool", "list", "--markdown").stdout.decode()
    written = (REPOSITORY / "docs/tools.md").read_text()
    expect(written.endswith(made), "docs/tools.md does not end with `nutshell tool list --markdown`")


@suite.case
def tools_are_chosen():
    def names(*flags):
        return [tool["name"] for tool in json.loads(call("tool", "list", "--json", *flags).stdout)]
    expect_equal(names("--tools", "read,sandbox_grep"), ["sandbox_read", "sandbox_grep"], "--tools")
    expect_equal(names("--tool-prefix", "", "--tools", "ls"), ["ls"], "no prefix")
    expect_equal(names("--profile", "readonly", "--tool-prefix", "x_"),
                 ["x_read", "x_ls", "x_grep", "x_find", "x_git", "x_diff", "x_recall"], "readonly")


@suite.case
def wrong_calls_are_told_apart():
    for words, wanted in ((("list", "--tools", "reed"), b"read"), (("schema", "gerp"), b"grep"),
                          (("call", "read", "{}"), b"sandbox"), (("call",), b"NAME"),
                          (("call", "nothing", "-s", "abc", "{}"), b"no tool"),
                          (("call", "read", "-s", "n00000000000f", "{}"), b"no sandbox"),
                          (("list", "--profile", "all"), b"readonly"), ((), b"tool"),
                          (("list", "--tools-file", "/nowhere"), b"/nowhere")):
        ended = call("tool", *words)
        expect(ended.status == 64 and wanted in ended.stderr, f"tool {words}: {ended!r}")


@fresh(suite)
def calls_outside_the_choice_are_refused(box):
    ended = box.run("write", "--profile", "readonly", path="a", content="b")
    expect(ended.status == 64 and b"no tool" in ended.stderr, repr(ended))
    ended = box.run("write", "--tools", "read", path="a", content="b")
    expect(ended.status == 64, repr(ended))


@fresh(suite)
def arguments_come_on_standard_input_too(box):
    ended = box.run("write", given=b'{"path": "a.txt", "content": "hello\\n"}')
    expect(ended.status == 0 and ended.stdout.startswith(b"created a.txt (1 line, v"), repr(ended))
    large = json.dumps({"path": "big", "content": "x" * 300_000}).encode()
    expect(box.run("write", given=large).status == 0, "an argument larger than a command line")
    expect_equal(box.shell("wc -c < big").stdout.strip(), b"300000", "bytes written")


# Files -------------------------------------------------------------------------------------------

@fresh(suite)
def files_are_written_read_and_edited(box):
    told = box.text("write", path="src/a.c", content="int a;\nint b;\n")
    expect(re.fullmatch(r"created src/a\.c \(2 lines, v[0-9a-f]+, undo u\d+\)", told), told)
    told = box.text("read", path="src/a.c")
    expect(re.fullmatch(r"src/a\.c 1-2/2 v[0-9a-f]+\n1\tint a;\n2\tint b;", told), told)
    told = box.text("edit", path="src/a.c", old="int b;", new="int c;")
    expect(re.fullmatch(r"edited src/a\.c:2 \(1 change, v[0-9a-f]+, undo u\d+\)", told), told)
    expect_equal(box.text("diff", a="src/a.c").splitlines()[1:],
                 ["@@ -1,2 +1,2 @@", " int a;", "-int b;", "+int c;"], "diff")
    told = box.text("undo")
    expect("restored src/a.c" in told and "redo: undo u" in told, told)
    expect("2\tint b;" in box.text("read", path="src/a.c"), "undone")
    redo = re.search(r"undo (u\d+)", told).group(1)
    box.text("undo", id=redo)
    expect("2\tint c;" in box.text("read", path="src/a.c"), "redone")
    told = box.text("delete", path="src", recursive=True)
    expect(told.startswith("deleted src (") and "undo u" in told, told)
    box.text("undo")
    expect("int c;" in box.text("read", path="/workspace/src/a.c"), "the tree is back")


@fresh(suite)
def reading_pages_through_a_file(box):
    box.shell("seq 1 5000 > n")
    told = box.text("read", path="n", max_tokens=500)
    following = int(re.search(r"next: offset=(\d+)$", told).group(1))
    expect(f"\n{following - 1}\t{following - 1}\n" in told and following < 500, told[-80:])
    told = box.text("read", path="n", offset=following, limit=2)
    expect(f"{following}-{following + 1}/5000" in told, told)
    box.error("invalid_argument", "read", path="n", offset=5001)
    whole = box.object("read", path="n", offset=4999)
    expect_equal(whole["fields"]["total_lines"], 5000, "total_lines")
    expect_equal(whole["truncated"], False, "truncated")


@fresh(suite)
def files_that_are_peculiar_are_described(box):
    box.shell(r"printf 'a\r\nb\r\n' > crlf; printf 'no end' > open; : > empty; "
              r"head -c 3000 /dev/zero | tr '\0' x > long; printf '\211PNG\r\n\032\n\000\000' > i.png; "
              r"head -c 100 /dev/urandom > noise; printf '\0\0\0' >> noise")
    expect(" crlf" in box.text("read", path="crlf").splitlines()[0], "crlf")
    expect(" no-final-newline" in box.text("read", path="open").splitlines()[0], "no newline")
    expect(" empty " in box.text("read", path="empty"), "empty")
    expect("(+2000 bytes)" in box.text("read", path="long"), "a long line")
    expect("image/png" in box.error("binary", "read", path="i.png"), "type of an image")
    box.error("binary", "read", path="noise")
    refused = box.error("binary", "read", "--images", path="i.png")
    expect("ends inside its header" in refused, refused)


def png(width, height, noise=0):
    """A PNG that any program reads; `noise` bytes make it larger."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + bytes(width) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"tEXt", bytes(noise)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@fresh(suite)
def images_are_given_only_if_models_read_them(box):
    with scratch() as directory:
        for name, data in {"good.png": png(30, 20), "wide.png": png(9000, 1), "cut.png": png(30, 20)[:-20],
                           "large.png": png(30, 20, 4 << 20), "a.bmp": b"BM" + bytes(60)}.items():
            (directory / name).write_bytes(data)
            expect_equal(call("cp", str(directory / name), f"{box.id}:{name}").status, 0, name)
        shown = box.object("read", "--images", path="good.png")
        expect_equal(base64.b64decode(shown["image"]["base64"]), png(30, 20), "the image")
        expect_equal(shown["text"], f"good.png PNG, 30 × 20 pixels, {len(png(30, 20))} bytes", "its text")
    for name, wanted in (("wide.png", "9000 × 1 pixels"), ("cut.png", "before its image data"),
                         ("large.png", "5 MiB as base64"), ("a.bmp", "not BMP")):
        told = box.error("binary", "read", "--images", path=name)
        expect(wanted in told, told)


@fresh(suite)
def errors_say_what_to_do(box):
    box.shell("printf 'x\\nx\\n' > twice; mkdir d; echo > d/f; mkfifo pipe; ln -s loop loop; "
              "ln -s /dev/null null")
    box.error("not_found", "read", path="twiec")
    box.error("is_directory", "read", path="d")
    box.error("not_unique", "edit", path="twice", old="x", new="y")
    box.error("not_found", "edit", path="twice", old="z", new="y")
    told = box.text("write", path="v", content="1\n")
    version = re.search(r"v([0-9a-f]+),", told).group(1)
    box.shell("echo 2 > v")
    box.error("stale", "write", path="v", content="3\n", version=version)
    box.error("conflict", "undo")
    box.error("lazy_placeholder", "write", path="c.js", content="// ... rest of code unchanged\n")
    box.error("lazy_placeholder", "edit", path="twice", old="x", new="# ... existing code ...",
              all=True)
    for path in ("/usr/bin/x", "/etc/passwd"):
        ended = box.run("write", path=path, content="x")
        expect(ended.status == 65 and ended.stdout.split(b":")[0] in (b"permission_denied", b"outside_root"),
               f"write {path}: {ended!r}")
    for path in ("pipe", "loop", "null", "/proc/self/mem", "../../../../x/y", "a" * 5000):
        for name in ("read", "delete") if path not in ("pipe", "loop", "null") else ("read",):
            ended = box.run(name, path=path)
            expect(ended.status == 65 and b": " in ended.stdout, f"{name} {path[:40]}: {ended!r}")
    box.error("not_found", "job", id="j9")
    box.error("expired", "recall", id="o0000")
    box.error("expired", "diff", a="twice")
    box.error("invalid_argument", "bash", command="true", timeout=0)


@fresh(suite)
def names_that_are_strange_are_shown_on_one_line(box):
    box.shell("mkdir -p s; cd s; : > \"$(printf 'a\\nb')\"; : > \"$(printf 'c\\377')\"")
    told = box.text("ls", path="s")
    expect('"a\\nb" 0' in told and '"c\\xff" 0' in told, told)
    expect('"a\\nb"' in box.text("find", path="s", glob="*"), "find")


@fresh(suite)
def directories_are_listed_and_searched(box):
    box.shell("mkdir -p src/net build; echo build/ > .gitignore; git init -q . 2>/dev/null; "
              "for i in 1 2 3; do echo \"int f$i(void);\" > src/net/f$i.h; done; "
              "echo 'int main(void) { return f1(); }' > src/main.c; : > build/x.o")
    told = box.text("ls")
    expect(re.match(r"\./ \(\d+ dirs?, \d+ files?; ignored: .*build", told), told)
    expect("src/ (2)" in told, told)
    told = box.text("ls", path="src", depth=2)
    expect("net/:\n" in told and "f1.h" in told, told)
    told = box.text("grep", pattern=r"f\d\(")
    expect(told.startswith("4 matches in 4 files\nsrc/main.c\n1:int main"), told)
    expect_equal(box.text("grep", pattern="f1(", literal=True, mode="files").splitlines()[1:],
                 ["src/main.c", "src/net/f1.h"], "files")
    expect("\nsrc/net/f2.h\n" in box.text("grep", pattern="f2", path="src"), "path below a path")
    expect("\nsrc/net/ f" in box.text("find", glob="*.h", path="src"), "path below a path")
    expect("\nsrc/main.c\n" in box.text("grep", pattern="f1", path="src/main.c"), "one file")
    expect(box.text("grep", pattern="absent").startswith("no matches"), "no matches")
    expect("(" in box.error("invalid_argument", "grep", pattern="("), "a wrong pattern")
    told = box.text("find", glob="*.h")
    expect(re.match(r"3 files( \(\d+ ignored\))?\nsrc/net/ f", told), told)
    expect("x.o" not in box.text("find", glob="*.o"), "ignored")
    expect("x.o" in box.text("find", glob="*.o", all=True), "all")
    told = box.text("grep", pattern="int", context=0, max_tokens=200)
    expect(told.startswith("4 matches"), told)


@fresh(suite)
def roomkit_calls_work_as_they_are(box):
    box.text("write", path="a.py", content="one\ntwo\nthree\n")
    told = box.text("read", "--dialect", "roomkit", path="a.py", offset=1, limit=1)
    expect(told.endswith("2\ttwo\nnext: offset=2"), told)
    box.text("edit", path="a.py", old_string="two", new_string="2")
    expect("a.py" in box.text("find", path=".", name="*.py", type="f"), "find")
    expect("1\t" not in box.text("grep", pattern="one", path=".", type="py"), "grep")
    box.text("write", path="b.py", content="one\n")
    expect("-2" in box.text("diff", file_a="a.py", file_b="b.py"), "diff")
    catalogue = json.loads(call("tool", "list", "--json", "--dialect", "roomkit").stdout)
    edit = next(tool for tool in catalogue if tool["name"] == "sandbox_edit")
    expect("old_string" in edit["inputSchema"]["properties"], "names of the dialect")
    told = box.object("bash", "--dialect", "roomkit", command="seq 1 100000", max_tokens=20000)
    expect(len(json.dumps({"output": told["text"]})) < 20000, "longer than its channel takes")


# Commands ----------------------------------------------------------------------------------------

@fresh(suite)
def commands_keep_their_status_and_their_output(box):
    ended = box.run("bash", command="echo out; echo err >&2; exit 7")
    expect(ended.status == 7 and ended.stdout.startswith(b"exit 7"), repr(ended))
    expect_equal(box.text("bash", command="true"), "ok, no output", "quiet success")
    expect_equal(box.run("bash", command="kill -9 $$").status, 137, "status of a signal")
    told = box.object("bash", command="sleep 60", timeout=1, wait=60)
    expect_equal(told["error"]["code"], "deadline_exceeded", "code of a timeout")
    told = box.object("bash", command="head -c 100000 /dev/urandom | od -An -tx1 | tee raw; exit 1")
    raw = call("tool", "output", told["output_id"], "-s", box.id).stdout
    expect_equal(raw, box.shell("cat raw").stdout, "the raw output")
    expect(told["tokens"] < told["tokens_raw"], "tokens")
    found = box.text("recall", id=told["output_id"], offset=3, limit=1)
    expect_equal(found.splitlines()[1], raw.decode().splitlines()[2], "line 3")


@fresh(suite)
def large_outputs_lose_no_byte_and_count_what_is_not_kept(box):
    half = "seq 1 100000000 | head -c 7500000"
    for _ in range(3):
        told = box.object("bash", command=f"{half}; echo; echo 'ERROR: needle'; {half}")
        raw = call("tool", "output", told["output_id"], "-s", box.id).stdout
        expect_equal(len(raw), 2 * 7500000 + len("\nERROR: needle\n"), "bytes kept of 15 MB")
        expect(b"\nERROR: needle\n" in raw, "the line in the middle is not kept")
        found = box.text("recall", id=told["output_id"], grep="needle")
        expect("ERROR: needle" in found, found)
    told = box.object("bash", command="seq 1 4000000", raw=True)
    kept = call("tool", "output", told["output_id"], "-s", box.id).stdout
    expect_equal(told["fields"]["stdout_bytes"], 30888896, "bytes printed")
    expect("in all it printed 30888896 bytes, 4000000 lines" in told["text"], told["text"][-300:])
    expect_equal(len(kept.replace(b"\n[14111680 bytes are not kept]\n", b"")), 16 << 20, "bytes kept")


@fresh(suite)
def changes_of_commands_are_taken_back(box):
    box.text("write", path="a", content="1\n")
    told = box.text("bash", command="echo 2 > a; echo new > b")
    expect(re.search(r"changed \d files, undo u\d+$", told), told)
    box.text("undo")
    expect_equal(box.shell("cat a; ls b 2>&1 | grep -c 'No such'").stdout, b"1\n1\n", "after undo")
    expect("changed" not in box.text("bash", command="cat a"), "nothing changed")


@fresh(suite)
def processes_left_in_the_background_are_told(box):
    text = box.text("bash", command="sleep 500 >/dev/null 2>&1 & echo up", timeout=90)
    expect("left running: 1 process" in text and "wait=0" in text, text)
    expect("left running" not in box.text("bash", command="true"), "another command")
    ended = call("run", "--", "sh", "-c", "sleep 500 >/dev/null 2>&1 & echo up")
    expect(ended.status == 0 and b"ended with the sandbox" in ended.stderr, f"run: {ended!r}")


@fresh(suite)
def no_full_stop_is_glued_to_a_path(box):
    box.text("write", path="/workspace/src/main.c", content="int main;\n")
    said = [box.run(name, **arguments).stdout.decode() for name, arguments in (
        ("read", {"path": "/workspace/none"}), ("read", {"path": "/workspace/src"}), ("read", {"path": "/etc/none"}),
        ("ls", {"path": "/workspace/none"}), ("ls", {"path": "/workspace/src/main.c"}), ("find", {"pattern": "*.zz"}),
        ("grep", {"pattern": "zz", "path": "/workspace/none"}), ("write", {"path": "/etc/x", "content": "x"}),
        ("write", {"path": "/workspace/src", "content": "x"}), ("delete", {"path": "/workspace/none"}),
        ("edit", {"path": "/workspace/src/main.c", "old": "q", "new": "z"}), ("diff", {"a": "/workspace/src/main.c", "b": "/workspace/none"}),
        ("bash", {"command": "cat /workspace/none; seq 100000; exit 3"}), ("git", {"args": ["status"]}))]
    for text in said:
        expect(not re.search(r"\S*/\S*\w\.(\s|$)", text), f"a path with a full stop: {text[-500:]!r}")
    for path in ("src/main.c.", "/workspace/src/main.c."):  # as a model copies it from a sentence
        told = box.run("read", path=path).stdout.decode()
        expect("main.c`" in told, f"no hint of the name without it: {told!r}")


@fresh(suite)
def a_name_that_cannot_be_resolved_fails_at_once_and_says_why(box):
    began = time.monotonic()
    ended = box.run("bash", command="getent hosts example.org; echo 'curl: (6) Could not resolve host: example.org'; exit 6")
    expect(ended.status == 6 and b"has no network" in ended.stdout, f"{ended!r}")
    expect(time.monotonic() - began < 10, "it waits for an answer")
    expect("network" not in box.text("bash", command="echo Could not resolve host"), "a command that succeeded")


@fresh(suite)
def jobs_outlive_their_caller(box):
    ended = box.run("bash", command="echo first; read line; echo got $line; exit 5", wait=0)
    expect(ended.status == 0 and b"job j1" in ended.stdout, repr(ended))
    told = box.text("job", id="j1", wait=1)
    expect(told.startswith("running, "), told)
    ended = box.run("job", id="j1", input="this\n", wait=30)
    expect(ended.status == 5 and b"got this" in ended.stdout, repr(ended))
    expect_equal(box.run("job", id="j1").status, 5, "a job that is over")
    box.run("bash", command="sleep 600", wait=1)
    began = time.monotonic()
    told = box.object("job", id="j2", stop=True)
    expect(told["fields"]["outcome"] != "running", str(told))
    expect(time.monotonic() - began < 20, "stopping took too long")


@fresh(suite)
def interrupted_call_ends_its_command(box):
    process = start("tool", "call", "bash", "-s", box.id, '{"command": "sleep 613", "wait": 60}')
    time.sleep(1.5)
    process.terminate()
    process.communicate(timeout=30)
    seen = box.shell("grep -l '[6]13' /proc/[0-9]*/cmdline 2>/dev/null").stdout
    expect(seen == b"", f"still running: {seen!r}")


@fresh(suite)
def same_output_is_pointed_to(box):
    lines = "seq -f 'number %g of many lines' 1 3000"
    box.shell(f"{lines} > n")
    for name, arguments in (("bash", {"command": lines}), ("read", {"path": "n"})):
        first = box.text(name, **arguments)
        second = box.text(name, **arguments)
        expect("unchanged since o" in second and len(second) < len(first) / 5, second[:200])
        identifier = re.search(r"unchanged since (o[0-9a-f]+)", second).group(1)
        expect("1" in box.text("recall", id=identifier), "the one pointed to is kept")
        expect_equal(box.text(name, "--repeat-output", **arguments).splitlines()[1:3],
                     first.splitlines()[1:3], "asked to repeat")


@fresh(suite)
def tools_of_the_user(box):
    with scratch() as directory:
        file = directory / "tools.toml"
        file.write_text("""
[[tool]]
name = "shout"
description = "Print a text."
argv = ["printf", "%s|", "{text}", "--flag={text}", "{words}"]
[[tool.parameters]]
name = "text"
required = true
[[tool.parameters]]
name = "words"
type = "strings"
""")
        flags = ("--tools-file", str(file))
        told = box.text("shout", *flags, text="a; id $(id)", words=["b c", "d"])
        expect_equal(told, "a; id $(id)|--flag=a; id $(id)|b c|d|", "its output")
        box.error("invalid_argument", "shout", *flags, text="--version")
        box.error("invalid_argument", "shout", *flags, text="a", words=["-x"])
        box.error("invalid_argument", "shout", *flags)
        listed = call("tool", "list", *flags).stdout
        expect(b"sandbox_shout" in listed, repr(listed[-200:]))
        file.write_text('[[tool]]\nname = "read"\ndescription = "x"\nargv = ["true"]\n')
        ended = call("tool", "list", *flags)
        expect(ended.status == 64 and b"two tools" in ended.stderr, repr(ended))


@suite.case
def outputs_go_with_their_sandbox():
    stores = runtime_directory() / "outputs"
    with sandbox() as identifier:
        box = Sandbox(identifier)
        told = box.object("bash", command="seq 1 10")
        expect((stores / identifier / told["output_id"]).exists(), "not kept")
        expect_equal(os.stat(stores / identifier).st_mode & 0o777, 0o700, "mode of the store")
    expect(not (stores / identifier).exists(), "left after destroy")
    left = Path(stores / "n0123456789ab")
    left.mkdir()
    expect(b"outputs of sandbox n0123456789ab" in call("gc", "--dry-run").stdout, "gc --dry-run")
    expect(left.exists(), "a dry run removes nothing")
    call("gc")
    expect(not left.exists(), "gc leaves outputs of a sandbox that is gone")


if __name__ == "__main__":
    sys.exit(suite.run())
