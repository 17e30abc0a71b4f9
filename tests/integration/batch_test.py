#!/usr/bin/env python3
"""`nutshell batch`: many commands or files, each in a sandbox of its own, with the flags of `run`; and
`--copy`, by which a file comes into one."""
import contextlib
import json
import os
import subprocess
import sys

from support import NUTSHELL, Suite, call, expect, expect_equal, expect_refusal, scratch

suite = Suite()


def batch(*words, lines="", **more):
    done = subprocess.run([NUTSHELL, "batch", *words], input=lines, text=True, capture_output=True,
                          timeout=120, check=False, **more)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@suite.case
def results_keep_the_order_of_the_commands():
    lines = "".join(f"sleep 0.{9 - i}; echo {i}\n" for i in range(8)) + '["false"]\n'
    done, results = batch("-j", "4", "-", lines=lines)
    expect_equal([r["index"] for r in results], list(range(9)), "order")
    expect_equal([r["stdout"] for r in results[:8]], [f"{i}\n" for i in range(8)], "outputs")
    expect_equal((results[8]["exit_code"], done.returncode), (1, 1), "the failing one")


@suite.case
def flags_are_those_of_run():
    with scratch() as directory:
        (directory / "kept").write_text("here")
        done, results = batch("--env", "A=1", "--workspace", str(directory), "-j", "2", "-",
                              lines='echo $A; cat kept; touch more\n["sh","-c","exit 7"]\n')
        expect_equal((done.returncode, results[0]["stdout"], results[1]["exit_code"]), (1, "1\nhere", 7),
                     f"{results}")
        expect_equal(os.listdir(directory), ["kept"], "the directory afterwards")
        (directory / "flags.toml").write_text('timeout = "300ms"\n')
        done, results = batch("--config", str(directory / "flags.toml"), "-", lines="sleep 60\n")
        expect_equal((done.returncode, results[0]["outcome"]), (1, "timed_out"), f"{results}")


@suite.case
def files_come_in_one_to_a_sandbox():
    with scratch() as directory:
        for name, text in (("a b", "1"), ("c:d", "2"), ("e'f", "3"), ("{}", "4"), ("-g", "5")):
            (directory / name).write_text(text)
        (directory / "tree").mkdir()
        (directory / "tree" / "leaf").write_text("6")
        names = ["./a b", "c:d", "e'f", "{}", "./-g"]
        done, results = batch(*names, "--", "sh", "-c", 'cat "$0"; ls | wc -l', "{}", cwd=directory)
        expect_equal(done.returncode, 0, f"{done.stderr}")
        expect_equal([r["stdout"] for r in results], [f"{i}1\n" for i in range(1, 6)], "what was there")
        expect_equal([r["file"] for r in results], names, "files")
        done, results = batch("c:d", "tree/", "--", "ls", cwd=directory)
        expect_equal([r["stdout"] for r in results], ["/workspace/c:d\n", "leaf\n"], "without {}")
        done, results = batch("c:d", "gone", "--", "cat", cwd=directory)
        expect_equal((done.returncode, results), (125, []), "nothing begins where one is missing")
        expect("gone" in done.stderr, done.stderr)


@suite.case
def mistakes_are_told_once_and_before_anything_runs():
    for words, wanted in ((("a", "b"), "FILE... -- COMMAND"), (("-i", "-"), "unknown option '-i'"),
                          (("--stdin", "a"), "--stdin FILE... -- COMMAND"),
                          (("--memory", "1k", "-"), "memory 1k"), (("/nowhere/x",), "/nowhere/x"),
                          (("--backedn", "x", "-"), "--backend")):
        done, results = batch(*words, lines="true\ntrue\n")
        expect_equal((done.returncode, results, done.stderr.count("nutshell:")), (125, [], 1),
                     f"{words}: {done.stderr}")
        expect(wanted in done.stderr, f"{words}: {done.stderr}")
    done, results = batch("-", lines='["nothing like it"]\n[1]\n')
    expect_equal((done.returncode, results), (125, []), "a line that is no list of words")
    expect("line 2" in done.stderr, done.stderr)


@suite.case
def files_can_be_standard_inputs():
    with scratch() as directory:
        for name in ("a", "b"):
            (directory / name).write_text(name * 3)
        done, results = batch("--stdin", "a", "b", "--", "sh", "-c", "cat; ls", cwd=directory)
        expect_equal(done.returncode, 0, f"{done.stderr}")
        expect_equal([(r["file"], r["stdout"]) for r in results], [("a", "aaa"), ("b", "bbb")], "inputs")
        done, results = batch("--stdin", "a", "gone", "--", "cat", cwd=directory)
        expect_equal((done.returncode, results), (125, []), "nothing begins where one is missing")


@suite.case
def people_get_a_table():
    done = subprocess.run([NUTSHELL, "batch", "--table", "-"], input="echo hi\necho bad >&2; exit 3\n",
                          text=True, capture_output=True, timeout=120, check=False)
    lines = done.stdout.splitlines()
    expect_equal(len(lines), 3, f"{done.stdout}")
    expect(lines[0].split() == ["INDEX", "STATUS", "TIME", "WHAT", "OUTPUT"], lines[0])
    expect("exit 0" in lines[1] and lines[1].endswith("hi"), lines[1])
    expect("exit 3" in lines[2] and lines[2].endswith("bad"), lines[2])


@suite.case
def progress_is_shown_on_a_terminal_only():
    lines = b"echo 1\nfalse\necho 3\n"
    master, slave = os.openpty()
    with subprocess.Popen([NUTSHELL, "batch", "-j", "1", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=slave) as shown:
        os.close(slave)
        output, _ = shown.communicate(lines, timeout=120)
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal tells that nobody is left
        while piece := os.read(master, 4096):
            seen += piece
    os.close(master)
    expect(b"1/3, 0 failed" in seen and b"3/3, 1 failed" in seen, f"shown: {seen!r}")
    expect(seen.endswith(b"\r\x1b[K"), f"the line is not cleared: {seen[-40:]!r}")
    expect(b"\x1b" not in output and len(output.splitlines()) == 3, f"output: {output!r}")
    silent = subprocess.run([NUTSHELL, "batch", "-"], input=lines, capture_output=True, timeout=120)
    expect_equal((silent.returncode, silent.stderr), (1, b""), "where nobody looks")


@suite.case
def copies_come_first_and_stay_in_their_sandbox():
    with scratch() as directory:
        (directory / "job").write_text("echo ran; exit 4")
        (directory / "job").chmod(0o4755)
        os.symlink("/etc/hostname", directory / "link")
        (directory / "tree").mkdir()
        os.symlink("../../../../etc", directory / "tree" / "out")
        job = str(directory / "job")
        ended = call("run", "--copy", job, "--copy", f"{job}:/tmp/other", "--", "sh", "-c",
                     "stat -c %a job /tmp/other; sh job")
        expect_equal((ended.status, ended.stdout), (4, b"755\n755\nran\n"), f"{ended!r}")
        ended = call("run", "--copy", str(directory / "tree"), "--", "readlink", "tree/out")
        expect_equal((ended.status, ended.stdout), (0, b"../../../../etc\n"), "a link stays one")
        lost = call("run", "--", "sh", "job", cwd=directory)
        expect(b"--copy 'job'" in lost.stderr, f"{lost!r}")
        for copy, wanted in ((f"{job}:/usr/x", "Read-only"), (f"{job}:/no/such/x", "/no/such"),
                             (f"{directory}/gone", "gone"), (":/x", "SRC[:DST]"),
                             ("/dev/null", "/dev/null")):
            expect_refusal(call("run", "--copy", copy, "--", "true"), wanted)


if __name__ == "__main__":
    sys.exit(suite.run())
