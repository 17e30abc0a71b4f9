#!/usr/bin/env python3
"""Messages about wrong usage: what is wrong, what would be right, status 125."""
import os
import re
import resource
import sys
import tempfile

from support import (PYTHON, Failed, Skip, Suite, call, create, destroy, expect, expect_equal,
                     expect_refusal, sandbox, scratch)

suite = Suite()

BAD_VALUES = {
    "--memory": ["1", "0", "-5m", "", "1e9", "512q", "99999999999999999999p", "2000000p", "nan"],
    "--processes": ["0", "-1", "", "1e9", "x", "99999999999999999999", "1.5", "2000000"],
    "--cpus": ["0", "-1", "", "nan", "inf", "1e9", "x", "1000000", "0.001"],
    "--disk": ["0", "1", "-1", "", "x", "99999999999999999999p"],
    "--open-files": ["0", "1", "-1", "", "1e9", "4294967296000"],
    "--ttl": ["0", "-1s", "", "5x", "400d", "99999999999999999999d", "s"],
    "--idle-timeout": ["-1s", "", "x"],
    "--timeout": ["0", "-1s", "", "1e9", "400d", "0.0001ms", "infinity"],
    "--cpu-time": ["0", "-1", "", "x", "400d"],
    "--output-limit": ["0", "-1", "", "x", "99999999999999999999"],
    "--label": ["x", "=", "=x", "nutshell.x=1", "a b=c", "n" * 64 + "=1", "a=" + "v" * 257],
    "--require": ["nosuch", "seccomp=soft", "=hard", "seccomp,,network", "seccomp=", ""],
    "--unsafe-without": ["seccomp", ""],
    "--backend": ["nosuch", "", "../native"],
    "--image": ["/none", "", "/etc/passwd/x"],
    "--workdir": ["relative", "", "../x", "/none", "/etc/passwd", "/proc/self/fd/3"],
}


@suite.case
def impossible_values_are_refused():
    wrong = []
    for flag, values in BAD_VALUES.items():
        for value in values:
            ended = call("run", f"{flag}={value}", "--", "true")
            try:
                expect_refusal(ended, "work" if flag == "--workdir" else flag.split("-")[2])
            except Failed as failure:
                wrong.append(f"{flag}={value[:24]!r}: {failure}")
    expect(not wrong, f"{len(wrong)} values: " + " / ".join(text[:150] for text in wrong))


@suite.case
def unknown_words_get_a_suggestion():
    expect_refusal(call("run", "--memroy", "1g", "--", "true"), "--memroy", "did you mean --memory")
    expect_refusal(call("rnu", "--", "true"), "rnu", "did you mean 'run'")
    expect_refusal(call("lsit"), "did you mean 'list'")
    expect_refusal(call("frobnicate"), "frobnicate", "nutshell run -- frobnicate")
    expect_refusal(call("create", "--json", "extra"), "extra", "unexpected word")
    expect_refusal(call("--frobnicate"), "--frobnicate")
    for words in (("run",), ("exec",), ("run", "--"), ("run", "--", ""), ("run", "--memory", "1g")):
        expect_refusal(call(*words), "no command", "--")
    for words in (("destroy",), ("completion",), ("run", "--memory")):
        expect_refusal(call(*words), "--help")
    expect_refusal(call("pause"), "no sandbox has this directory", "nutshell list")


@suite.case
def only_ids_are_ids():
    with sandbox() as made:
        for bad in ("..", "a/b", "x" * 5000, made.upper() if made.upper() != made else "ABCDEF",
                    made + " ", " " + made, made + "0", "", "*", "0", "ab", "%s%n", "\x1b[31m"):
            for command in (("exec", bad, "--", "true"), ("destroy", bad), ("info", bad)):
                if command == ("info", ""):
                    continue  # without an id it tells of this host
                ended = call(*command)
                expect_refusal(ended)
                expect(b"\x1b" not in ended.stderr, f"raw escape bytes on the terminal: {ended!r}")
        expect_equal(call("exec", made, "--", "true").status, 0, "the sandbox lives on")


@suite.case
def an_ambiguous_prefix_is_no_id():
    ids = {}
    try:
        for _ in range(400):  # 4096 beginnings: two of about 100 share one, on average
            made = create("--ttl", "90s", "--memory", "16m", "--disk", "64k")
            if made[:3] in ids:
                expect_refusal(call("exec", made[:3], "--", "true"), "beginning of 2 ids")
                expect_refusal(destroy(made[:3]), "beginning of 2 ids")
                ids[made] = made
                return
            ids[made[:3]] = made
        raise Skip("400 ids without a common beginning")
    finally:
        destroy(*ids.values())


@suite.case
def too_many_arguments_are_refused():
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard not in (resource.RLIM_INFINITY,) and hard < 64 << 20:
        raise Skip("the stack's hard limit keeps more than 2 MB of arguments from any program")
    many = ["y" * 100_000] * 24
    ended = call("run", "--", "echo", *many, preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_STACK, (64 << 20, hard)))
    expect_refusal(ended, "standard input or in a file")


@suite.case
def a_working_directory_is_inside():
    inside = re.compile(rb"^/(?!.*unreachable)")
    with sandbox() as made:
        link = 'for n in $(seq 0 30); do ln -s /proc/self/fd/$n l$n; ln -s /proc/1/fd/$n i$n; done'
        call("exec", made, "--", "sh", "-c", link)
        for number in range(31):
            for path in (f"/proc/self/fd/{number}", f"/proc/1/fd/{number}",
                         f"/workspace/l{number}", f"/workspace/i{number}"):
                ended = call("exec", "-w", path, made, "--", "pwd")
                is_inside = ended.status == 0 and inside.match(ended.stdout)
                expect(ended.status == 125 or is_inside, f"{path}: {ended!r}")
        for path in ("/proc/1/root", "/proc/self/root/proc/1/cwd", "/proc/self/cwd/../../.."):
            ended = call("exec", "-w", path, made, "--", "ls", "/")
            expect(ended.status == 125 or b"workspace" in ended.stdout, f"{path}: {ended!r}")


LOOK_AROUND = """
import os
for number in range(3, 64):
    try: print(number, os.readlink(f'/proc/self/fd/{number}'))
    except OSError: pass
print(os.path.exists('canary'), os.getcwd())
"""


@suite.case
def descriptors_and_directory_of_the_caller_stay_outside():
    with scratch() as directory:
        (directory / "canary").write_text("canary")
        opened = [os.open(directory / "canary", os.O_RDONLY), os.open(directory, os.O_RDONLY)]
        ended = call("run", "--", *PYTHON, LOOK_AROUND, pass_fds=opened, cwd=directory)
        for fd in opened:
            os.close(fd)
        lines = ended.stdout.decode().splitlines()
        expect_equal(lines[-1], "False /workspace", "directory")
        expect_equal(lines[:-1], [], "descriptors inside besides the standard three")


@suite.case
def too_few_descriptors_are_a_clear_error():
    for count in (4, 6, 8, 10, 12, 16, 20, 24, 32):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
        for words in (("run", "--", "echo", "ok"), ("list",), ("create", "--ttl", "5s")):
            ended = call(*words, preexec_fn=few)
            if ended.status == 0 or b"error while loading" in ended.stderr:
                continue
            expect_refusal(ended)
    expect_equal(call("run", "--", "echo", "ok").stdout, b"ok\n", "afterwards")


@suite.case
def closed_standard_descriptors_confuse_nothing():
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        def close():
            for fd in closed:
                os.close(fd)
        ended = call("run", "--", "sh", "-c", "echo out; echo err >&2; cat; exit 5",
                     preexec_fn=close)
        expect_equal(ended.status, 5, f"status with {closed} closed")
        expect(1 in closed or ended.stdout == b"out\n", f"{closed}: {ended!r}")
        expect(2 in closed or ended.stderr == b"err\n", f"{closed}: {ended!r}")


@suite.case
def output_to_a_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        for words in (("version",), ("list",), ("info",), ("run", "--json", "--", "true")):
            ended = call(*words, stdout=full)
            expect(ended.status == 125 and ended.stderr, f"{words[0]} to a full disk: {ended!r}")
        expect_equal(call("nosuch", stderr=full).status, 125, "status with stderr on a full disk")
    ended = call("nosuch", preexec_fn=lambda: os.close(2))
    expect_equal(ended.status, 125, "status with stderr closed")


@suite.case
def an_empty_environment_is_enough():
    kept = {"NUTSHELL_RUNTIME_DIR": os.environ["NUTSHELL_RUNTIME_DIR"]}
    expect_equal(call("run", "--", "echo", "ok", env={}).stdout, b"ok\n", "run")
    made = call("create", env=kept).stdout.decode().strip()
    expect_equal(call("exec", made, "--", "echo", "ok", env=kept).stdout, b"ok\n", "exec")
    destroy(made)
    gone = tempfile.mkdtemp(prefix="nutshell-gone-")
    ended = call("run", "--", "pwd", cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    expect_equal(ended.stdout, b"/workspace\n", "from a directory that is gone")


if __name__ == "__main__":
    sys.exit(suite.run())
