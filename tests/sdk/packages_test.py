#!/usr/bin/env python3
"""Packages that install by themselves: what is in them, and that they work where nothing else is."""
import base64
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import minimal_root
from python_packages import PLACE as PYTHON_PACKAGES, install
from support import NUTSHELL, REPOSITORY, Failed, Skip, Suite, expect, expect_equal, scratch, unpack_tar

suite = Suite()
PROGRAMS = ("nutshell", "nutshelld", "nutshell-launcher", "nutshell-init", "nutshell-egress",
            "nutshell-unpack")
BIN = Path(NUTSHELL).parent
KEPT = []  # directories that end with the suite


def package(kind, place, programs=BIN):
    """The paths that scripts/package printed; each is a file in `place`."""
    done = subprocess.run([REPOSITORY / "scripts/package", kind, "--out", str(place), "--programs", str(programs)],
                          capture_output=True, text=True, timeout=400, check=False, stdin=subprocess.DEVNULL)
    expect_equal(done.returncode, 0, f"scripts/package {kind}: {done.stderr[-500:]}; its status")
    paths = [Path(line) for line in done.stdout.splitlines()]
    expect(paths and all(path.is_file() and path.parent == Path(place).resolve() for path in paths),
           f"it printed {done.stdout!r}")
    return paths


@functools.cache
def ready_made(kind):
    """The same, made once for all cases that only read it."""
    place = tempfile.TemporaryDirectory(prefix="nutshell-packages-")
    KEPT.append(place)
    return package(kind, place.name)


def needed_libraries(program):
    listing = subprocess.run(["objdump", "-p", str(program)], capture_output=True, text=True,
                             check=True).stdout
    return set(re.findall(r"NEEDED\s+(\S+)", listing)), re.findall(r"\bGLIBC_(\d+)\.(\d+)", listing)


def version():
    return re.search(r"project\(nutshell VERSION (\S+)",
                     (REPOSITORY / "CMakeLists.txt").read_text()).group(1)


# Contents ----------------------------------------------------------------------------------------

@suite.case
def programs_need_nothing_but_glibc():
    for name in PROGRAMS:
        libraries, _ = needed_libraries(BIN / name)
        strange = {one for one in libraries if not re.match(r"(libc|libm|ld-linux\S*)\.so", one)}
        expect(not strange, f"{name} needs {strange}")


@suite.case
def the_wheel_is_what_installers_expect():
    [wheel] = ready_made("wheel")
    newest = max((int(major), int(minor)) for name in PROGRAMS
                 for major, minor in needed_libraries(BIN / name)[1])
    machine = os.uname().machine
    tag = f"py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}"
    expect_equal(wheel.name, f"nutshell_sandbox-{version()}-{tag}.whl", "its name")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for name in PROGRAMS:
            entry = archive.getinfo(f"nutshell_sandbox/bin/{name}")
            expect_equal(entry.external_attr >> 16 & 0o777, 0o755, f"the mode of {name}")
            expect_equal(hashlib.sha256(archive.read(entry)).digest(),
                         hashlib.sha256((BIN / name).read_bytes()).digest(), name)
        info = f"nutshell_sandbox-{version()}.dist-info"
        expect(f"Tag: {tag}\n" in archive.read(f"{info}/WHEEL").decode(), "WHEEL has another tag")
        expect(f"Version: {version()}\n" in archive.read(f"{info}/METADATA").decode(),
               "METADATA has another version")
        recorded = {}
        for line in archive.read(f"{info}/RECORD").decode().splitlines():
            name, digest, size = line.rsplit(",", 2)
            recorded[name] = (digest, size)
        expect_equal(set(recorded), set(names), "the files of RECORD")
        for name in set(names) - {f"{info}/RECORD"}:
            data = archive.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            expect_equal(recorded[name], (f"sha256={digest}", str(len(data))), f"RECORD of {name}")


@suite.case
def auditwheel_finds_the_same_tag():
    install("auditwheel", ("auditwheel==6.8.2",))
    [wheel] = ready_made("wheel")
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)],
                           capture_output=True, text=True, timeout=120, check=False,
                           env={**os.environ, "PYTHONPATH": str(PYTHON_PACKAGES / "auditwheel")})
    wanted = wheel.name.removesuffix(".whl").split("-")[-1]
    text = " ".join(shown.stdout.split())
    expect(f'consistent with the following platform tag: "{wanted}"' in text,
           f"auditwheel: {text[:300]} {shown.stderr[-300:]}")


@suite.case
def the_same_input_gives_the_same_bytes():
    for kind in ("wheel", "tarball"):
        with scratch() as place:
            [first], [second] = ready_made(kind), package(kind, place)
            expect_equal(hashlib.sha256(first.read_bytes()).hexdigest(),
                         hashlib.sha256(second.read_bytes()).hexdigest(), kind)


@suite.case
def a_program_with_foreign_libraries_is_refused():
    with scratch() as place:
        programs, out = place / "bin", place / "out"
        programs.mkdir()
        for name in PROGRAMS:
            shutil.copy2(BIN / name, programs / name)
        foreign = shutil.which("git", path="/usr/bin:/bin")
        if not foreign or needed_libraries(foreign)[0] <= {"libc.so.6"}:
            raise Skip("no program here needs a library besides glibc")
        shutil.copy2(foreign, programs / "nutshelld")
        done = subprocess.run([REPOSITORY / "scripts/package", "wheel", "--out", out, "--programs", programs],
                              capture_output=True, text=True, timeout=120, check=False)
        expect_equal(done.returncode, 1, "its status")
        expect("nutshelld needs " in done.stderr, done.stderr)
        expect(not list(out.glob("*")), "it left a file")
        (programs / "nutshelld").unlink()
        done = subprocess.run([REPOSITORY / "scripts/package", "tarball", "--out", out, "--programs", programs],
                              capture_output=True, text=True, timeout=120, check=False)
        expect(done.returncode == 1 and "nutshelld is missing" in done.stderr, done.stderr)


# Use ---------------------------------------------------------------------------------------------

@suite.case
def the_tarball_works_wherever_it_is():
    with scratch() as place:
        [tarball] = ready_made("tarball")
        unpack_tar(tarball, place)
        top = place / tarball.name.removesuffix(".tar.gz")
        for name in ("first", "second place"):
            moved = top.rename(place / name)
            use_programs(moved / "bin", place)
            top = moved


def use_programs(programs, place):
    runtime = place / "runtime"
    environment = {"HOME": str(place), "PATH": "/usr/bin:/bin", "NUTSHELL_RUNTIME_DIR": str(runtime),
                   "NUTSHELL_STATE_DIR": str(place / "state")}
    runtime.mkdir(mode=0o700, exist_ok=True)

    def nutshell(*words):
        done = subprocess.run([programs / "nutshell", *words], capture_output=True, text=True,
                              timeout=60, check=False, env=environment, stdin=subprocess.DEVNULL)
        expect_equal(done.returncode, 0, f"nutshell {words[0]}: {done.stderr}; its status")
        return done.stdout.strip()

    expect_equal(nutshell("run", "--", "echo", "one"), "one", "a one-shot run")
    nutshell("daemon", "start")  # its program, its launcher and its init are found
    try:
        sandbox = nutshell("create")
        expect_equal(nutshell("exec", sandbox, "--", "echo", "two"), "two", "an exec")
        process = re.search(r"process (\d+)", nutshell("daemon", "status")).group(1)
        expect_equal(os.readlink(f"/proc/{process}/exe"), str(programs / "nutshelld"), "the daemon")
        nutshell("destroy", sandbox)
    finally:
        nutshell("daemon", "stop")


def readme_lines(language):
    block = re.search(rf"^```{language}\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.S | re.M)
    expect(block is not None, f"README.md has no {language}")
    return block.group(1)


def install_wheel(root):
    [wheel] = ready_made("wheel")
    shutil.copy2(wheel, root / "home/user")
    status, said, error = minimal_root.run(root, "python3", "-m", "venv", "/home/user/venv")
    expect_equal(status, 0, f"venv: {said} {error}; its status")
    status, said, error = minimal_root.run(
        root, "pip", "install", "--no-index", "--disable-pip-version-check", f"/home/user/{wheel.name}")
    expect_equal(status, 0, f"pip: {said[-300:]} {error[-500:]}; its status")


@suite.case
def the_wheel_works_where_there_is_only_python():
    with scratch() as place:
        root = place / "root"
        root.mkdir()
        minimal_root.make(root)
        install_wheel(root)
        status, said, _ = minimal_root.run(root, "sh", "-c", "id -u; for one in cc gcc make dpkg nutshell; do command -v $one; done")
        expect_equal(said, "1000\n/home/user/venv/bin/nutshell\n", "who is there, and what")
        status, said, error = minimal_root.run(root, "nutshell", "run", "--", "echo", "hello")
        expect_equal((status, said), (0, "hello\n"), f"{error}; nutshell")
        (root / "home/user/readme.py").write_text(readme_lines("python"))
        status, said, error = minimal_root.run(root, "python", "readme.py")
        expect_equal(status, 0, f"README's Python: {said} {error[-600:]}; its status")
        expect(said.strip(), "README's Python printed nothing")


@suite.case
def the_npm_packages_work_where_there_is_only_node():
    if not shutil.which("npm"):
        raise Skip("there is no npm here")
    try:
        archives = ready_made("npm")
    except Failed as failure:
        if "npm ci" in str(failure) or "npm install" in str(failure):
            raise Skip(f"the compiler of TypeScript cannot be installed: {failure}") from None
        raise
    with scratch() as place:
        root = place / "root"
        root.mkdir()
        minimal_root.make(root)
        minimal_root.add_program(root, "node", "/usr/lib/node_modules/npm")
        project = root / "home/user/project"
        project.mkdir()
        for archive in archives:
            shutil.copy2(archive, project)
        (project / "package.json").write_text('{"type": "module", "private": true}')
        (project / "readme.js").write_text(readme_lines("js"))
        os.chown(project, minimal_root.USER, minimal_root.USER)
        for file in project.iterdir():
            os.chown(file, minimal_root.USER, minimal_root.USER)
        names = " ".join(f"./{archive.name}" for archive in archives)
        status, said, error = minimal_root.run(
            root, "sh", "-c", "cd project && node /usr/lib/node_modules/npm/bin/npm-cli.js install "
            f"--offline --no-audit --no-fund {names} && node readme.js")
        expect_equal(status, 0, f"npm: {said[-300:]} {error[-700:]}; its status")
        expect(said.endswith("hello\n\n") or said.endswith("hello\n"), f"README's lines printed {said!r}")


@suite.case
def the_go_module_is_one_that_go_accepts():
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise Skip("there is no go here")
    with scratch() as place:
        [archive] = package("go", place)
        with zipfile.ZipFile(archive) as module:
            module.extractall(place)
        source = place / f"nutshell@v{version()}"
        user = place / "user"
        user.mkdir()
        (user / "go.mod").write_text(f"module user\n\ngo 1.24\n\nrequire nutshell v{version()}\n"
                                     f"replace nutshell => {source}\n")
        (user / "main.go").write_text("package main\n\nimport _ \"nutshell\"\n\nfunc main() {}\n")
        built = subprocess.run([go, "build", "-o", "user", "."], cwd=user, capture_output=True, text=True,
                               timeout=300, check=False,
                               env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off",
                                    "GOTOOLCHAIN": "local", "GOCACHE": str(place / "cache"),
                                    "GOPATH": str(place / "go")})
        expect_equal(built.returncode, 0, f"go build: {built.stderr[-400:]}; its status")


if __name__ == "__main__":
    sys.exit(suite.run())
