"""Shared by all suites: a list of cases, the program under test, and a look at the host.

A suite talks to its own launcher, in a runtime directory of its own, so that it neither sees nor
disturbs the sandboxes of anybody else on the machine.

  NUTSHELL_BIN    directory of the programs under test, or the program   (build/bin)
  NUTSHELL_FULL   set: every case and many repetitions (scripts/test --full); unset: what every commit runs
  NUTSHELL_SEED   what random choices start from; unset: always the same number
  NUTSHELL_TEST_FLAGS    of every sandbox that names no backend itself: "--backend docker --image X"
  NUTSHELL_TEST_WITHOUT  JSON, {"case": "why it cannot run on that backend"}
"""
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
OUTCOMES = {"exited", "signalled", "timed_out", "out_of_memory", "output_limit", "cancelled",
            "lost"}
PATIENCE = 90  # seconds for anything that is to end by itself, on a machine that is busy
# Python isolated from the user's environment and site packages.
PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")

# Leaves its parent, its session and its signals behind; keeps the pipes open. Writes a heartbeat.
DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
while True:
    open('/workspace/beat', 'w').write(str(time.monotonic()))
    time.sleep(0.02)
"""
# The same, and then stays itself.
FAMILY = "import os, sys, time\nif os.fork() == 0:\n" + "".join(
    f"    {line}\n" for line in DAEMON.strip().splitlines()) + "time.sleep(600)\n"


def find_program():
    named = Path(os.environ.get("NUTSHELL_BIN", REPOSITORY / "build/bin"))
    return str((named / "nutshell" if named.is_dir() else named).resolve())


NUTSHELL = find_program()


class Skip(Exception):
    """The case cannot run here; the text says what is missing."""


class Failed(Exception):
    """The product did something else than it promises."""


def expect(is_true, message):
    if not is_true:
        raise Failed(message)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")


def unpack_tar(path, place):
    """Unpacks a tar archive; with the filter for archives of others where this Python has it (3.11.4)."""
    with tarfile.open(path) as archive:
        archive.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def is_full():
    return bool(os.environ.get("NUTSHELL_FULL"))


def repetitions(short, full):
    """SHORT for every commit, FULL for scripts/test --full."""
    return full if is_full() else short


def needs_full(why):
    """Skips the case that calls this, unless everything is to run."""
    if not is_full():
        raise Skip(f"{why}: scripts/test --full runs it")


def test_program(name):
    """The path of a built test program. One that is missing was forgotten: the case fails."""
    programs = Path(os.environ.get("NUTSHELL_TEST_BIN", REPOSITORY / "build/release/tests"))
    expect(os.access(programs / name, os.X_OK), f"{programs / name} is not built")
    return programs / name


def seed_of_run():
    return int(os.environ.get("NUTSHELL_SEED") or 17)


def random_token():
    return "nutshell-token-" + secrets.token_hex(8)


class Suite:
    def __init__(self):
        self.cases = []

    def case(self, function):
        self.cases.append(function)
        return function

    def run(self):
        if not os.access(NUTSHELL, os.X_OK):
            print(f"FAIL all: {NUTSHELL} is missing\n0 passed, 1 failed, 0 skipped")
            return 1
        wanted = sys.argv[1:]
        unable = json.loads(os.environ.get("NUTSHELL_TEST_WITHOUT", "{}"))
        counts = {"ok": 0, "FAIL": 0, "SKIP": 0}
        with own_runtime_directory():
            for function in self.cases:
                if wanted and function.__name__ not in wanted:
                    continue
                verdict = run_case(function, unable.get(function.__name__))
                counts[verdict] += 1
                if verdict == "FAIL":
                    destroy_all()  # what it left would be the next case's trouble
        print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
        return 1 if counts["FAIL"] else 0


def run_case(function, unable=None):
    name, began = function.__name__, time.monotonic()
    verdict, detail = "ok", ""
    try:
        if unable:
            raise Skip(unable)
        function()
    except Skip as reason:
        verdict, detail = "SKIP", f": {reason}"
    except Failed as failure:
        verdict, detail = "FAIL", f": {failure}"
    except Exception as error:  # a fault of the case itself must not hide the ones behind it
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        verdict, detail = "FAIL", f": {type(error).__name__} at {where}: {error}"
    detail = detail[:600].replace("\n", " ")
    print(f"{verdict} {name}{detail}  [{time.monotonic() - began:.1f} s]", flush=True)
    return verdict


@contextlib.contextmanager
def own_runtime_directory():
    directory = Path(tempfile.mkdtemp(prefix="nutshell-runtime-"))
    os.environ["NUTSHELL_RUNTIME_DIR"] = str(directory)
    state = Path(tempfile.mkdtemp(prefix="nutshell-saved-"))  # what ended sandboxes leave
    os.environ["NUTSHELL_STATE_DIR"] = str(state)
    # So that a case sees a launcher end; launcher_runs_test.py is about those that stay.
    os.environ.setdefault("NUTSHELL_LAUNCHER_LINGER", "0")
    try:
        with through_daemon(directory):
            yield directory
    finally:
        destroy_all()
        wait_until(lambda: not launchers(directory), 10)
        for pid in launchers(directory):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(state, ignore_errors=True)


@contextlib.contextmanager
def through_daemon(directory):
    """With NUTSHELL_THROUGH_DAEMON every command of the suite goes through a daemon of its own."""
    if not os.environ.get("NUTSHELL_THROUGH_DAEMON"):
        yield
        return
    state = tempfile.mkdtemp(prefix="nutshell-state-")
    with open(f"{state}/log", "wb") as log:
        served = subprocess.Popen([str(Path(NUTSHELL).parent / "nutshelld"), "--state",
                                   f"{state}/state"], stdin=subprocess.DEVNULL, stderr=log)
    place = directory / "nutshelld.sock"
    os.environ["NUTSHELL_DAEMON"] = str(place)
    try:
        if not wait_until(place.exists, 60):
            raise Failed("the daemon does not start: " + Path(f"{state}/log").read_text()[-500:])
        yield
        destroy_all()
    finally:
        os.environ["NUTSHELL_DAEMON"] = "none"
        served.terminate()
        served.wait(60)
        shutil.rmtree(state, ignore_errors=True)


def runtime_directory():
    return Path(os.environ["NUTSHELL_RUNTIME_DIR"])


@contextlib.contextmanager
def scratch():
    """A directory that a user the test does not know may look into."""
    with tempfile.TemporaryDirectory(prefix="nutshell-cli-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


# The program ------------------------------------------------------------------------------------

def backend_flags():
    """The flags that choose the backend under test; empty for native."""
    return os.environ.get("NUTSHELL_TEST_FLAGS", "").split()


def command_line(*words):
    flags = backend_flags()
    own = words[:words.index("--")] if "--" in words else words
    if not flags or not words or words[0] not in ("run", "create") or "--backend" in own:
        return [NUTSHELL, *words]
    return [NUTSHELL, words[0], *flags, *words[1:]]


def start(*words, **settings):
    """In a session of its own, as a terminal's shell would not do for us here."""
    for stream in ("stdin", "stdout", "stderr"):
        settings.setdefault(stream, subprocess.DEVNULL if stream == "stdin" else subprocess.PIPE)
    return subprocess.Popen(command_line(*words), start_new_session=True, **settings)


class Ended:
    def __init__(self, status, output, error, seconds):
        self.status, self.stdout, self.stderr, self.seconds = status, output, error, seconds

    def __repr__(self):
        return f"status {self.status}, stdout {self.stdout[-200:]!r}, stderr {self.stderr[-300:]!r}"


def call(*words, given=None, seconds=PATIENCE, **settings):
    """Runs nutshell to its end. Bytes in, bytes out; a hang is a failure."""
    began = time.monotonic()
    if given is not None:
        settings["stdin"] = subprocess.PIPE
    process = start(*words, **settings)
    try:
        output, error = process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        shown = " ".join(words)[:120]
        raise Failed(f"nutshell {shown} did not end in {seconds} s") from None
    return Ended(process.returncode, output or b"", error or b"", time.monotonic() - began)


def call_json(*words, **settings):
    """For run and exec: the object of --json, with exactly one known outcome, and the status."""
    verb, *rest = words
    ended = call(verb, "--json", *rest, **settings)
    try:
        answer = json.loads(ended.stdout)
    except ValueError:
        raise Failed(f"no JSON object: {ended!r}") from None
    expect(answer["outcome"] in OUTCOMES, f"outcome {answer['outcome']!r}")
    answer["status"], answer["seconds"] = ended.status, ended.seconds
    return answer


def create(*flags):
    ended = call("create", *flags)
    expect(ended.status == 0, f"create: {ended!r}")
    return ended.stdout.decode().strip()


def destroy(*ids):
    return call("destroy", *ids)


def is_listed(made):
    return made.encode() in call("list", "-q").stdout


def destroy_all():
    ids = call("list", "-q").stdout.decode().split()
    for first in range(0, len(ids), 10):  # a hundred at once would take long
        destroy(*ids[first:first + 10])


@contextlib.contextmanager
def sandbox(*flags):
    made = create(*flags)
    try:
        yield made
    finally:
        destroy(made)


def expect_running(made, word):
    """Waits until a command with that word runs inside, whoever started it."""
    script = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    found = wait_until(lambda: word.encode() in call("exec", made, "--", "sh", "-c", script).stdout)
    expect(found, f"{word} does not run in {made}")


def expect_outcome(answer, outcome, status):
    shown = {key: answer.get(key) for key in ("outcome", "exit_code", "signal", "detail", "status")}
    is_right = answer["outcome"] == outcome and answer["status"] == status
    expect(is_right, f"wanted {outcome} with status {status}, got {shown}, "
                     f"stderr {answer.get('stderr', '')[-200:]!r}")


def expect_refusal(ended, *wanted):
    """Our own error: status 125, one message that says what and how."""
    text = ended.stderr.decode(errors="replace")
    expect(ended.status == 125, f"status {ended.status} and not 125: {ended!r}")
    expect(text.startswith("nutshell: "), f"no message of ours: {text[:200]!r}")
    for word in wanted:
        expect(word.lower() in text.lower(), f"{word!r} is missing in {text[:300]!r}")


def read_line(process, seconds=30):
    """A line of the process's output, or a failure; it may never come."""
    lines = []
    reader = threading.Thread(target=lambda: lines.append(process.stdout.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    if not lines:
        process.kill()
        raise Failed(f"no line of output in {seconds} s")
    return lines[0]


def end_of(process, seconds=30):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failed(f"the CLI did not end in {seconds} s") from None


# The host ---------------------------------------------------------------------------------------

def wait_until(is_true, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_true():
            return True
        time.sleep(0.02)
    return is_true()


def processes():
    """(pid, argument list) of every process on the host that is not a zombie."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{entry}/cmdline").read_bytes()
            if line:
                found.append((int(entry), line.rstrip(b"\0").split(b"\0")))
    return found


def payloads(token):
    """Host pids of what runs in a sandbox with `token` in its arguments; the CLI is not meant."""
    word = token.encode()
    return [pid for pid, words in processes()
            if any(word in text for text in words)
            and Path(os.fsdecode(words[0])).name != "nutshell"]


def expect_gone(token, seconds=20):  # less than the timeout of a command that has none of its own
    if wait_until(lambda: not payloads(token), seconds):
        return
    raise Failed(f"payload processes are left after {seconds} s: {payloads(token)}")


def launchers(directory=None):
    """Pids of the launchers that keep sandboxes in `directory` (this suite's own)."""
    where = os.fsencode(directory or os.environ["NUTSHELL_RUNTIME_DIR"])
    found = {pid: parent_of(pid) for pid, words in processes()
             if words[0] == b"nutshell-launcher" and where in words and not is_init(pid)}
    # A child that the launcher clones to make a part of a sandbox looks like the launcher for a moment.
    return [pid for pid, parent in found.items() if parent is not None and parent not in found]


def parent_of(pid):
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def is_init(pid):
    """A sandbox's init is a clone of whoever started it, one pid namespace further down."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                own = len(Path("/proc/self/status").read_text().split("NSpid:")[1]
                          .split("\n")[0].split())
                return len(line.split()) - 1 > own
    return False


def memory_of(pid, field="VmRSS"):
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            stat = Path(f"/proc/{entry}/stat").read_text()
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry))
    return found
