#!/usr/bin/env python3
"""The commands and flags as their help describes them."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support import (DAEMON, NUTSHELL, PYTHON, REPOSITORY, Suite, call, create, destroy, expect, expect_equal,
                     expect_gone, expect_refusal, payloads, random_token, sandbox, scratch, start,
                     wait_until)

suite = Suite()

RESULT_KEYS = ["outcome", "exit_code", "signal", "duration_ms", "cpu_time_ms", "peak_memory_bytes",
               "stdout_bytes", "stderr_bytes", "stdout_truncated", "stderr_truncated", "stdout",
               "stderr"]
COMMANDS = ["run", "create", "exec", "list", "info", "stats", "destroy", "cp", "forward", "pause", "resume", "diff", "apply",
            "discard", "checkpoint", "rollback", "fork", "tool", "render", "gain", "gc", "doctor", "version",
            "completion", "image"]


def listed():
    return {entry["id"]: entry for entry in json.loads(call("list", "--json").stdout)}


# Help and small commands ------------------------------------------------------------------------

@suite.case
def manual_pages_are_made_from_the_help():
    with scratch() as directory:
        subprocess.run([REPOSITORY / "scripts/man", NUTSHELL, directory], check=True, timeout=120)
        expect(".TH NUTSHELL 1" in (directory / "nutshell.1").read_text(), "the first page")
        for name in COMMANDS:
            expect((directory / f"nutshell-{name}.1").exists(), f"no page of {name}")
        page = (directory / "nutshell-run.1").read_text()
        for flag in re.findall(rb"  (--[a-z-]+)", call("run", "--help").stdout):
            expect(flag.decode().replace("-", "\\-") in page, f"{flag} is not in the page")
        inner = (directory / "nutshell-image.1").read_text()
        expect(".SH PULL" in inner and "\\-\\-max\\-size" in inner, "inner commands")


@suite.case
def names_of_docker_are_understood():
    with sandbox() as made:
        expect_equal(call("ps", "-q").stdout, call("list", "-q").stdout, "ps")
        expect_equal(call("top", "--help").stdout, call("stats", "--help").stdout, "top")
        with scratch() as directory:
            (directory / "a").write_text("1")
            expect_equal(call("cp", str(directory / "a"), f"{made}:sub").status, 0, "in")
            expect_equal(call("exec", made, "--", "cat", "/workspace/sub").stdout, b"1", "what came in")
            expect_equal(call("cp", f"{made}:sub", "-").stdout, b"1", "out")
        expect_equal(call("rm", made).status, 0, "rm")
    for flag, wanted in (("-v", b"--workspace DIR"), ("--rm", b"ends with its command"),
                         ("-p", b"nutshell forward"), ("--env-file", b"-e NAME=VALUE"),
                         ("--user", b"sandbox's own user"), ("--dns", b"--allow HOST"),
                         ("--network", b"none, allowed or unsafe-full")):
        ended = call("run", flag, "x", "--", "true")
        expect(ended.status == 125 and wanted in ended.stderr, f"{flag}: {ended!r}")


@suite.case
def detached_command_goes_on_and_its_output_is_kept():
    script = "echo out; echo err >&2; while ! test -e go; do sleep 0.05; done; echo late; exit 3"
    with scratch() as directory:
        (directory / "a").write_text("1")
        ended = call("run", "--detach", "--name", "web", "--copy", str(directory / "a"), "--", "sh", "-c", script)
    made = ended.stdout.decode().strip()
    try:
        expect_equal(ended.status, 0, f"run --detach: {ended!r}")
        expect(wait_until(lambda: b"out" in call("logs", "web").stdout, 20), "no output")
        for _ in range(2):
            shown = call("logs", made)
            expect_equal((shown.stdout, shown.stderr), (b"out\n", b"err\n"), "the same output at each look")
        follower = start("logs", "-f", "web")
        call("exec", made, "--", "sh", "-c", "test -e a && touch go")
        output, _ = follower.communicate(timeout=60)
        expect_equal(output, b"out\nlate\n", "followed to its end")
        told = json.loads(call("logs", "--json", made).stdout)
        expect_equal((told["running"], told["result"]["exit_code"], told["stdout"]), (False, 3, "out\nlate\n"), "JSON")
        expect_refusal(call("run", "--detach", "--name", "web", "--", "true"), "web")
    finally:
        call("destroy", made)
    quick = call("run", "-d", "--", "true").stdout.decode().strip()
    expect_equal(call("logs", quick).status, 0, "of a command that has ended")
    call("destroy", quick)
    expect_refusal(call("run", "-d", "--", "nosuchprogram"), "nosuchprogram", "not found")
    expect_refusal(call("run", "-d", "-i", "--", "cat"), "--detach")
    expect_refusal(call("run", "--name", "x", "--", "true"), "--detach")
    with sandbox() as other:
        expect_refusal(call("logs", other), "run --detach")
        expect_refusal(call("logs", other, "--job", "../../x"), "j1")


@suite.case
def doctor_prints_a_profile_for_apparmor():
    shown = call("doctor", "--apparmor-profile")
    expect_equal(shown.status, 0, "doctor")
    programs = str(Path(NUTSHELL).resolve().parent)
    packaged = (REPOSITORY / "packaging/apparmor/nutshell").read_text()
    expect_equal(shown.stdout.decode().replace(programs, "/usr/bin"), packaged, "the profile of packages")


@suite.case
def help_shows_the_values_and_the_defaults_of_its_command():
    for words in (("run",), ("create",), ("doctor",)):
        expect(b"{native,docker,podman,gvisor}" in call(*words, "--help").stdout, f"{words}")
    made = call("create", "--help").stdout.decode()
    expect("overlay: layers" in made and "auto: show" in made, "values are shown as users type them")
    expect(b"compgen -W \"native docker podman gvisor\"" in call("completion", "bash").stdout, "completion")
    expect(b"{none,auto}" in call("run", "--help").stdout, "values of --toolchains")
    expect(b"--workspace-mode) COMPREPLY=($(compgen -W \"auto overlay copy\"" in
           call("completion", "bash").stdout, "values of --workspace-mode")
    told = call("mcp", "--help").stdout.decode()
    expect("(auto with a workspace, else none)" in told, "default of --toolchains")
    for flag, value in (("--memory", "2g"), ("--processes", "512"), ("--ttl", "7d")):
        expect(re.search(rf"{flag} .*(?:\n {{20,}}.*)*\({value}\)", told), f"{flag} of mcp: {told}")
    offered = call("batch", "--help").stdout
    expect(b"--tty" not in offered and b"--interactive" not in offered, "flags that batch refuses")


@suite.case
def backend_that_is_missing_is_told_at_once():
    with scratch() as directory:
        ended = call("doctor", "--backend", "gvisor", env={**os.environ, "PATH": str(directory)})
        lines = ended.stdout.decode().splitlines()
        expect(ended.status == 1 and "No sandbox of gvisor" in lines[0], f"{ended!r}")
        expect(sum(" hard " in line for line in lines) == 0, f"{ended!r}")


@suite.case
def help_is_there_for_everything():
    for words in ((), ("--help",), ("-h",)):
        ended = call(*words)
        expect_equal(ended.status, 0, f"status of nutshell {words}")
        expect(b"nutshell run -- echo hello" in ended.stdout, f"no example with {words}")
    for name in COMMANDS:
        ended = call(name, "--help")
        expect(ended.status == 0 and len(ended.stdout) > 100, f"{name} --help: {ended!r}")
        expect(name.encode() in call("--help").stdout, f"--help does not list {name}")


@suite.case
def version_says_one_thing():
    text = call("version").stdout.decode()
    expect(re.fullmatch(r"nutshell \d+\.\d+\.\d+\S*\n", text), f"version: {text!r}")
    expect_equal(call("--version").stdout.decode(), text, "--version")
    answer = json.loads(call("version", "--json").stdout)
    expect_equal(f"nutshell {answer['version']}\n", text, "version --json")


@suite.case
def doctor_tries_a_sandbox():
    ended = call("doctor")
    expect(b"default sandbox works" in ended.stdout and ended.status == 0, repr(ended))
    answer = json.loads(call("doctor", "--json").stdout)
    expect(answer["works"] is True and answer["backend"] == "native", str(answer)[:200])
    for item in answer["protections"]:
        expect_equal(sorted(item), ["by", "fix", "name", "strength"], "keys of a protection")
    expect_refusal(call("doctor", "--backend", "none"), "no backend 'none'", "native")


@suite.case
def gc_finds_nothing_after_an_ordinary_life():
    destroy(create())
    answer = json.loads(call("gc", "--dry-run", "--json").stdout)
    expect_equal((answer["dry_run"], answer["failed"]), (True, []), "gc --dry-run --json")
    expect_equal(call("gc").status, 0, "gc")


@suite.case
def completion_scripts_complete():
    script = call("completion", "bash").stdout
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
    expect(checked.returncode == 0 and not checked.stderr, f"bash -n: {checked.stderr!r}")
    expect_equal(complete(script, "ru"), ["run"], "nutshell ru<TAB>")
    expect("--memory" in complete(script, "run", "--mem"), "nutshell run --mem<TAB>")
    with sandbox() as made:
        expect(made in complete(script, "exec", made[:3]), "nutshell exec ID<TAB>")
    for shell in ("zsh", "fish"):
        text = call("completion", shell)
        expect(text.status == 0 and b"nutshell" in text.stdout, f"{shell}: {text!r}")
        if shutil.which(shell):
            checked = subprocess.run([shell, "-n"], input=text.stdout, check=False)
            expect_equal(checked.returncode, 0, f"{shell} -n")
    expect_refusal(call("completion", "csh"), "csh", "bash, zsh, fish")


def complete(script, *words):
    tail = ("\nCOMP_WORDS=(nutshell \"$@\"); COMP_CWORD=$#\n"
            "_nutshell nutshell \"${!#}\" \"\"; printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    environment = dict(os.environ, PATH=f"{Path(NUTSHELL).parent}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-s", "--", *words], input=script + tail.encode(),
                          capture_output=True, env=environment, check=False)
    return done.stdout.decode().split()


# Sandboxes --------------------------------------------------------------------------------------

@suite.case
def json_results_have_these_keys():
    with sandbox() as made:
        for answer in (json.loads(call("run", "--json", "--", "true").stdout),
                       json.loads(call("exec", "--json", made, "--", "true").stdout)):
            expect_equal(list(answer), RESULT_KEYS, "keys")
            kinds = [type(answer[key]).__name__ for key in RESULT_KEYS]
            expect_equal(kinds[:4], ["str", "int", "NoneType", "float"], "types")
            expect(all(answer[key] >= 0 for key in ("duration_ms", "cpu_time_ms")), str(answer))
    answer = json.loads(call("run", "--json", "--timeout", "100ms", "--", "sleep", "9").stdout)
    expect_equal(set(answer), {*RESULT_KEYS, "detail"}, "keys with a detail")
    answer = json.loads(call("run", "--json", "--", "printf", r"\377").stdout)
    expect_equal(set(answer), {*RESULT_KEYS, "stdout_base64"}, "keys with bytes")


@suite.case
def commands_that_change_sandboxes_answer_programs_too():
    with sandbox() as made:
        saved = json.loads(call("checkpoint", "--json", made).stdout)
        expect_equal(set(saved), {"id", "checkpoint"}, "checkpoint")
        forked = json.loads(call("fork", "--json", made, "-n", "2").stdout)
        expect_equal((forked["from"], len(forked["forks"])), (made, 2), "fork")
        ids = [one["id"] for one in forked["forks"]]
        ended = json.loads(call("destroy", "--json", *ids).stdout)
        expect(all(one in json.dumps(ended) for one in ids), f"destroy: {ended}")


@suite.case
def the_state_directory_is_made_for_its_user_alone():
    with scratch() as directory:
        state = directory / "deep/state"
        env = dict(os.environ, NUTSHELL_STATE_DIR=str(state))
        made = call("create", "--workspace", str(directory), env=env, umask=0)
        expect_equal(made.status, 0, f"create: {made!r}")
        call("destroy", "--discard", made.stdout.decode().strip(), env=env)
        expect_equal(state.stat().st_mode & 0o777, 0o700, "the directory that a daemon takes")


@suite.case
def a_sandbox_keeps_what_commands_leave():
    with sandbox("--label", "project=demo", "--ttl", "120s") as made:
        expect(re.fullmatch(r"n[0-9a-f]{12}", made), f"id {made!r}")
        call("exec", made, "--", "sh", "-c", "echo kept > note; echo more > /tmp/note")
        ended = call("exec", made, "--", "cat", "note", "/tmp/note")
        expect_equal(ended.stdout, b"kept\nmore\n", "what the next command finds")
        entry = listed()[made]
        expect_equal((entry["state"], entry["ttl_ms"], entry["labels"]),
                     ("running", 120000, {"project": "demo"}), "list --json")
        expect(made.encode() in call("list").stdout, "list does not show it")
        expect(made.encode() in call("ls", "-q").stdout, "ls -q does not show it")
        with sandbox("--label", "project=other") as other:
            found = call("list", "-q", "--label", "project=demo").stdout.decode().split()
            expect(made in found and other not in found, f"list --label: {found}")
        expect_equal(call("exec", made[:5], "--", "cat", "note").stdout, b"kept\n", "by prefix")


@suite.case
def create_settings_hold_for_every_exec():
    created = call("create", "--json", "-e", "A=1", "-e", "B=x y", "-w", "/tmp")
    made = json.loads(created.stdout)["id"]
    try:
        show = ["sh", "-c", 'echo "$A|$B|$(pwd)"']
        expect_equal(call("exec", made, "--", *show).stdout, b"1|x y|/tmp\n", "as created")
        ended = call("exec", "-e", "A=2", "-w", "/workspace", made, "--", *show)
        expect_equal(ended.stdout, b"2|x y|/workspace\n", "with flags of its own")
    finally:
        destroy(made)


@suite.case
def limits_are_what_the_flags_say():
    with sandbox("--memory", "128m", "--cpus", "1", "--processes", "20", "--disk", "8m",
                 "--open-files", "99") as made:
        limits = listed()[made]["limits"]
        wanted = {"memory_bytes": 128 << 20, "cpus": 1, "processes": 20, "disk_bytes": 8 << 20,
                  "open_files": 99, "cpu_time_ms": 300000}
        expect_equal(limits, wanted, "limits")
        text = ("ulimit -n; df -k /workspace | tail -1\n"
                "for n in 1 2 3; do head -c 4m /dev/zero > $n; done")
        ended = call("exec", made, "--", "sh", "-c", text)
        expect(ended.stdout.startswith(b"99\n") and b" 8192 " in ended.stdout, repr(ended))
        expect(b"No space left" in ended.stderr and ended.status != 0, repr(ended))
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "with a full disk")
        info = json.loads(call("info", "--json", made).stdout)
        expect_equal(info["limits"], wanted, "info --json")
        expect(len(info["protections"]) > 10, "info lacks the protections")
        expect(b"seccomp" in call("info", made).stdout, "info lacks the protections")


@suite.case
def info_needs_no_sandbox():
    answer = json.loads(call("info", "--json").stdout)
    strengths = {item["name"]: item["strength"] for item in answer["protections"]}
    for name in ("network", "filesystem", "capabilities", "seccomp", "timeout"):
        expect_equal(strengths.get(name), "hard", name)
    expect_equal(call("info", "--require", "seccomp,network=hard").status, 0, "info --require")
    if strengths["memory"] != "hard":
        refused = call("run", "--require", "memory=hard", "--", "true")
        expect_refusal(refused, "memory=hard", "watched", "Delegate")
        expect_refusal(call("create", "--require", "cgroup"), "cgroup", "missing")
    else:
        expect_equal(call("run", "--require", "memory=hard", "--", "true").status, 0, "memory=hard")


@suite.case
def pause_and_resume():
    token = random_token()
    with sandbox() as made:
        call("exec", made, "--", *PYTHON, DAEMON, token)
        expect(wait_until(lambda: payloads(token), 30), "no server")
        for _ in range(2):
            expect_equal(call("pause", made).status, 0, "pause")
        expect_equal(listed()[made]["state"], "paused", "state")
        expect_refusal(call("exec", made, "--", "true"), "paused", "nutshell resume")
        for _ in range(2):
            expect_equal(call("resume", made).status, 0, "resume")
        expect_equal(listed()[made]["state"], "running", "state")
        first = call("exec", made, "--", "cat", "beat").stdout
        expect(wait_until(lambda: call("exec", made, "--", "cat", "beat").stdout != first, 20),
               "it does not go on")
        call("pause", made)
        expect_equal(destroy(made).status, 0, "destroy of a paused one")
        expect_gone(token)


@suite.case
def destroy_says_what_it_could_not():
    first, second = create(), create()
    ended = destroy(first, "n0123456789ab", second)
    expect_refusal(ended, "n0123456789ab", "nutshell list")
    expect(not {first, second} & set(listed()), "the others were left")
    expect_refusal(destroy(first), first)
    expect_refusal(call("exec", first, "--", "true"), first, "nutshell create")
    for command in ("pause", "resume", "info", "stats"):
        expect_refusal(call(command, first), first)


@suite.case
def environment_and_directory():
    text = 'echo "$A|$FROM_HERE|$SECRET|$HOME|$(pwd)"'
    environment = dict(os.environ, FROM_HERE="yes", SECRET="no")
    ended = call("run", "-e", "A=b=c", "--env", "FROM_HERE", "--", "sh", "-c", text,
                 env=environment)
    expect_equal(ended.stdout, b"b=c|yes||/tmp/home|/workspace\n", "the environment")
    expect_equal(call("run", "-w", "/tmp", "--", "pwd").stdout, b"/tmp\n", "-w")
    expect_refusal(call("run", "-e", "NOT_SET_ANYWHERE", "--", "true"), "NOT_SET_ANYWHERE")
    expect_refusal(call("run", "-e", "=x", "--", "true"), "NAME=VALUE")


@suite.case
def arguments_arrive_as_given():
    words = ["", "a b", "", "*", "$HOME", "--memory", "-x", "--", "\\", "ä\n", "'\""]
    code = "import sys; sys.stdout.write(repr(sys.argv[1:]))"
    expect_equal(call("run", "--", *PYTHON, code, *words).stdout.decode(), repr(words), "words")
    expect_equal(call("run", "echo", "--json", "-n").stdout, b"--json -n\n", "without --")
    expect_equal(call("run", "--timeout", "9s", "echo", "x").stdout, b"x\n", "flags, no --")
    with sandbox() as made:
        expect_equal(call("exec", made, "echo", "-n", "x").stdout, b"x", "exec without --")
    many = ["y" * 1000] * 1500
    ended = call("run", "--", "sh", "-c", "echo $#", "sh", *many)
    expect_equal(ended.stdout, b"1500\n", "1.5 MB of arguments")


@suite.case
def config_files():
    with scratch() as directory:
        path = directory / "nutshell.toml"

        def with_text(text, *words):
            path.write_text(text)
            return call("run", "--config", str(path), *words, "--", "sh", "-c",
                        'ulimit -n; echo "$A"; pwd')
        ended = with_text('open_files = 77\nenvironment = ["A=file"]\nworking_directory = "/tmp"\ncpus = 1.0\n')
        expect_equal(ended.stdout, b"77\nfile\n/tmp\n", "taken from the file")
        ended = with_text('open_files = 77\nenvironment = ["A=file"]\n', "--open-files", "55", "-e", "A=x")
        expect_equal(ended.stdout, b"55\nx\n/workspace\n", "the command line wins")
        expect_refusal(with_text('memroy = "1g"\n'), "unknown key 'memroy'", "mean 'memory'")
        expect_refusal(with_text("memory = \n"), "nutshell.toml", "line 1")
        expect_refusal(with_text("memory = [1]\n"), "memory", "string or a number")
        expect_refusal(with_text('environment = "A=1"\n'), "environment", "list")
        expect_refusal(with_text('[limits]\nmemory = "1g"\n'), "limits")
        expect_refusal(with_text('memory = "1"\n'), "memory", "16m")
        expect_refusal(with_text("\0\xff"), "nutshell.toml")
        expect_refusal(call("run", "--config", str(directory), "--", "true"), str(directory))
        expect_refusal(call("run", "--config", "/none.toml", "--", "true"), "/none.toml")


if __name__ == "__main__":
    sys.exit(suite.run())
