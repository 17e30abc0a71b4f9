#!/usr/bin/env python3
"""A sandbox at home in its user's project: HOME, the project's own path, mounts and the user's tools."""
import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from support import Skip, Suite, call, expect, expect_equal, expect_refusal, sandbox, scratch
from workspace_fixture import changes_of, make_tree, shell

suite = Suite()

TOOL = "#!/bin/sh\necho \"$0 $(cat \"${0%/*}/../version\" 2>/dev/null)\"\n"


@contextlib.contextmanager
def home(parent="/srv"):
    """A home directory outside /tmp, because a sandbox has a /tmp of its own."""
    if not os.access(parent, os.W_OK):
        raise Skip(f"{parent}, where a home directory could be made, belongs to another user")
    path = Path(tempfile.mkdtemp(prefix="nutshell-home.", dir=parent))
    try:
        path.chmod(0o755)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def environment_of(directory, path="/usr/bin:/bin", **others):
    kept = {name: value for name, value in os.environ.items()
            if name.startswith("NUTSHELL") or name == "XDG_RUNTIME_DIR"}
    return dict(kept, HOME=str(directory), PATH=path, **others)


def run_in(project, text, *flags, **settings):
    ended = call("run", "--workspace", str(project), *flags, "--", "sh", "-c", text, **settings)
    expect_equal(ended.status, 0, f"{text!r}: {ended!r}")
    return ended.stdout.decode()


@suite.case
def home_is_scratch_outside_the_workspace():
    with scratch() as directory, sandbox("--workspace", str(make_tree(directory / "project"))) as made:
        expect_equal(shell(made, "echo $HOME; cd; pwd; getent passwd 1000 | cut -d: -f6; mkdir .cache; ls -A"),
                     "/tmp/home\n/tmp/home\n/tmp/home\n.cache\n", "HOME")
        expect_equal(changes_of(made), {}, "changes after a cache was written")


@suite.case
def the_system_names_itself_and_knows_no_other_host():
    expect("ID=" in call("run", "--", "cat", "/etc/os-release").stdout.decode(), "/etc/os-release")
    code = "import socket\ntry:\n socket.getaddrinfo('example.org', 80)\nexcept OSError as e:\n print(e.errno == socket.EAI_NONAME)"
    expect_equal(call("run", "--timeout", "5s", "--", "/usr/bin/python3", "-c", code).stdout, b"True\n", "an unknown name")


@suite.case
def a_project_is_at_its_own_path_too():
    parents = [parent for parent in ("/srv", "/tmp", "/var/tmp") if os.access(parent, os.W_OK)]
    for parent in parents:
        with home(parent) as directory:
            (directory / "deep").mkdir()
            project = make_tree(directory / "deep/er project")
            with sandbox("--workspace", str(project)) as made:
                expect_equal(shell(made, f"cd '{project}' && cat README && echo new > made && pwd -P"),
                             "hello\n/workspace\n", "through its own path")
                expect_equal(list(changes_of(made)), ["made"], "the change")
                shell(made, "mkdir /workspace/sub; echo x > /workspace/sub/y")
                ended = call("tool", "call", "write", "-s", made,
                             f'{{"path": "{project}/by-tool", "content": "x"}}')
                expect_equal(ended.status, 0, f"a tool by that path: {ended!r}")
                shell(made, f"test -f '{project}/sub/y' && test -f /workspace/by-tool")
                if parent != "/srv":
                    continue  # a /tmp is the sandbox's own
                ended = call("exec", made, "--", "sh", "-c",
                             f"rm '{project}' || mv '{project}' '{project}2' || ln -sfn /etc '{project}'")
                expect(ended.status != 0, "the link can be replaced")
            expect(not (project / "made").exists(), "the host's directory was written to")


@suite.case
def a_mount_is_read_only_at_any_path_and_shares_nothing():
    with home("/tmp") as user:
        write(user / "tools/bin/tool", TOOL, 0o755)
        write(user / "settings.txt", "setting\n")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(user / "tools/host.sock"))
        listener.listen()
        os.mkfifo(user / "tools/pipe")
        shown = "/home/user/made/up"
        flags = ("--mount", f"{user}/tools:{shown}/tools", "--mount", f"{user}/tools:/other/place",
                 "--mount", f"{user}/settings.txt:{shown}/settings.txt")
        text = (f"{shown}/tools/bin/tool && /other/place/bin/tool && cat {shown}/settings.txt"
                f" && ! touch {shown}/tools/x 2>/dev/null && ! touch {shown}/x 2>/dev/null && ls -A {shown}")
        for more in ((), ("--workspace", str(make_tree(user / "project")))):
            ended = call("run", *flags, *more, "--toolchains", "none", "--", "sh", "-c", text)
            expect_equal(ended.status, 0, f"reads: {ended!r}")
            wanted = [f"{shown}/tools/bin/tool ", "/other/place/bin/tool ", "setting", "settings.txt", "tools"]
            expect_equal(ended.stdout.decode().splitlines(), wanted, "what is shown")
        code = f"""
import fcntl, os, socket
fcntl.flock(os.open('{shown}/tools/bin/tool', os.O_RDONLY), fcntl.LOCK_EX)
try:
    socket.socket(socket.AF_UNIX).connect('{shown}/tools/host.sock')
    print('connected')
except OSError:
    print('refused')
os.open('{shown}/tools/pipe', os.O_RDONLY | os.O_NONBLOCK)
print(any('{user}' in line.split()[3] for line in open('/proc/self/mountinfo')))
"""
        with (user / "tools/bin/tool").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            ended = call("run", *flags, "--timeout", "5s", "--", "/usr/bin/python3", "-c", code)
        expect_equal((ended.status, ended.stdout), (0, b"refused\nFalse\n"), f"locks and sockets: {ended!r}")
        listener.close()


@suite.case
def a_mount_shows_root_no_more_than_others_see():
    """Where anybody may look, owners are not mapped: what is root's alone stays closed to root's sandbox."""
    if os.geteuid() != 0:
        raise Skip("a plain user's sandbox sees what that user sees")
    with home() as user:
        write(user / "open/lib/anyone", "anyone\n")
        write(user / "open/lib/key", "SECRET-9f2c\n", 0o600)
        (user / "open/lib/sub").mkdir(mode=0o700)
        write(user / "open/lib/sub/key", "SECRET-9f2c\n")
        write(user / "closed/lib/own", "own\n", 0o600)
        (user / "closed").chmod(0o700)
        (user / "link").symlink_to(user / "open/lib")
        for shown in ("open/lib", "open", "link"):
            ended = call("run", "--mount", f"{user}/{shown}:/opt/shown", "--", "sh", "-c",
                         "cat $(find /opt/shown -name anyone); grep -rs SECRET /opt/shown; true")
            expect_equal(ended.stdout, b"anyone\n", f"{shown}: {ended!r}")
        ended = call("run", "--mount", f"{user}/closed/lib:/opt/shown", "--", "cat", "/opt/shown/own")
        expect_equal(ended.stdout, b"own\n", f"a directory of root's own: {ended!r}")


@suite.case
def mounts_that_cannot_be_are_refused():
    with home("/tmp") as user:
        (user / "data").mkdir()
        for target in ("/proc/x", "/tmp/x", "/workspace/x", "/", "/a/../etc", "/usr/new/place"):
            for _ in range(8):  # the reason is told however early the start fails
                expect_refusal(call("run", "--mount", f"{user}/data:{target}", "--", "true"), "mount")
        expect_refusal(call("run", "--mount", f"{user}/none", "--", "true"), "none", "--mount")
        big = write(user / "big", "")
        os.truncate(big, 2 << 20)
        expect_refusal(call("run", "--mount", f"{big}:/opt/big", "--", "true"), "1 MiB", "--copy")


@suite.case
def the_tools_of_the_user_are_there_and_the_keys_are_not():
    with home() as user:
        project = make_tree(user / "project")
        write(user / ".pyenv/versions/3.9/bin/mypython", TOOL, 0o755)
        write(user / ".pyenv/shims/shimmed", TOOL, 0o755)
        write(user / ".pyenv/version", "3.9\n")
        write(user / ".nvm/versions/node/v20.1.0/bin/mynode", TOOL, 0o755)
        write(user / ".cargo/bin/mycargo", TOOL, 0o755)
        for secret in (".cargo/credentials.toml", ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc",
                       ".gitconfig", ".bash_history", ".config/gh/hosts.yml", ".nvm/alias/default"):
            write(user / secret, "SECRET-9f2c\n")
        (project / ".venv/bin").mkdir(parents=True)
        (project / ".venv/bin/python").symlink_to(user / ".pyenv/versions/3.9/bin/mypython")
        settings = {"env": environment_of(user, f"{user}/.nvm/versions/node/v20.1.0/bin:{user}/own:/usr/bin:/bin",
                                          TZ="Europe/Paris")}
        found = run_in(project, "mynode; shimmed; mycargo; .venv/bin/python; echo $PATH; echo $PYENV_ROOT; echo $TZ",
                       **settings).splitlines()
        expect_equal(found[0], f"{user}/.nvm/versions/node/v20.1.0/bin/mynode ", "node")
        expect_equal(found[1], f"{user}/.pyenv/shims/shimmed 3.9", "a shim, and the version's file")
        expect_equal(found[3], ".venv/bin/python ", "a virtual environment that links out of the project")
        expect(f"{user}/own" not in found[4] and found[4].startswith(f"{user}/.nvm"), f"PATH: {found[4]}")
        expect_equal(found[5:7], [f"{user}/.pyenv", "Europe/Paris"], "variables")
        leaked = run_in(project, f"grep -rls SECRET {user} / --exclude-dir=proc --exclude-dir=sys"
                        f" --exclude-dir=usr --exclude-dir=lib || true", "--timeout", "60s", **settings)
        expect_equal(leaked, "", "files with a secret")
        expect_equal(call("run", "--workspace", str(project), "--toolchains", "none", "--", "sh", "-c",
                          f"command -v mycargo; ls {user}", **settings).stdout, b"project\n", "without tools")


def leaks_of(project, user, settings):
    return run_in(project, f"grep -rls SECRET {user} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr"
                  " --exclude-dir=lib || true", "--timeout", "60s", **settings)


@suite.case
def no_way_leads_to_the_keys():
    """Links, hard links, mounts, names deep in a tool, and variables that name the keys' directory."""
    with home() as user, contextlib.ExitStack() as undo:
        project = make_tree(user / "project")
        write(user / ".ssh/deploy", "SECRET-9f2c\n")
        write(user / ".aws/credentials", "SECRET-9f2c\n")
        write(user / ".cargo/bin/mycargo", TOOL, 0o755)
        write(user / ".nvm/versions/node/v20.1.0/bin/mynode", TOOL, 0o755)
        write(user / ".nvm/versions/node/v20.1.0/etc/npmrc", "//registry/:_authToken=SECRET-9f2c\n")
        write(user / ".sdkman/candidates/maven/3.9/conf/settings.xml", "SECRET-9f2c\n")
        write(user / ".pyenv/versions/3.9/bin/mypython", TOOL, 0o755)
        (user / ".pyenv/versions/3.9/keys").symlink_to(user / ".ssh")
        (user / ".pyenv/versions/evil").symlink_to(user / ".aws")
        (user / ".volta").mkdir()
        (user / ".volta/tools").symlink_to(user / ".ssh")
        (user / ".rbenv/versions/3/share").mkdir(parents=True)
        os.link(user / ".ssh/deploy", user / ".rbenv/versions/3/share/harmless")
        if os.geteuid() == 0:
            for place in (user / ".asdf/installs", user / ".pyenv/versions/3.9/mounted"):
                place.mkdir(parents=True)
                subprocess.run(["mount", "--bind", user / ".ssh", place], check=True)
                undo.callback(subprocess.run, ["umount", place], check=True)
        settings = {"env": environment_of(user, NVM_DIR=str(user / ".nvm"), GOPATH=str(user / ".ssh"),
                                          JENV_ROOT=str(user / ".aws"), CARGO_HOME=str(user / ".cargo"))}
        expect_equal(leaks_of(project, user, settings), "", "files with a secret")
        found = run_in(project, "mynode; mycargo", **settings).splitlines()
        expect_equal(len(found), 2, f"the tools beside them: {found}")


@suite.case
def worktrees_and_submodules_find_their_repositories():
    if not shutil.which("git"):
        raise Skip("git is not installed")
    with home() as user:
        settings = {"env": environment_of(user, GIT_CONFIG_GLOBAL=str(user / "none"))}

        def git(*words, cwd):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
                            "protocol.file.allow=always", *words], cwd=cwd, check=True, capture_output=True,
                           env={**os.environ, "GIT_CONFIG_GLOBAL": str(user / "none")})
        main, library = make_tree(user / "main"), make_tree(user / "library")
        for root in (library, main):
            git("init", "-q", "-b", "main", ".", cwd=root)
            git("add", ".", cwd=root)
            git("commit", "-qm", "first of " + root.name, cwd=root)
        git("submodule", "add", str(library), "sub", cwd=main)
        git("commit", "-qm", "with a submodule", cwd=main)
        git("worktree", "add", "-q", str(user / "tree"), cwd=main)
        look = "git log -1 --format=%s && echo more >> README && git diff --stat && git status --porcelain"
        for place, inside, wanted in ((user / "tree", ".", "with a submodule"), (main, "sub", "first of library")):
            found = run_in(place, f"cd {inside}; {look}", **settings)
            expect(found.startswith(wanted) and " README" in found and "M README" in found, f"{place}: {found!r}")
        refused = call("run", "--workspace", str(user / "tree"), "--", "sh", "-c",
                       "git config core.pager evil || touch $(git rev-parse --git-common-dir)/hooks/post-commit",
                       **settings)
        expect(refused.status != 0, f"the repository can be written to: {refused!r}")
        # A file that comes with a download shows nothing.
        trap = make_tree(user / "download")
        write(user / ".ssh/id_ed25519", "SECRET-9f2c\n")
        write(user / ".ssh/HEAD", "ref: refs/heads/main\n")
        for name in ("objects", "refs"):
            (user / ".ssh" / name).mkdir()
        write(trap / ".git", f"gitdir: {user}/.ssh\n")
        expect_equal(leaks_of(trap, user, settings), "", "files with a secret")


@suite.case
def commits_have_the_author_of_the_user():
    if not shutil.which("git"):
        raise Skip("git is not installed")
    with home("/tmp") as user:
        project = make_tree(user / "project")
        write(user / ".gitconfig", "[user]\n  name = Ada Lovelace\n  email = ada@example.org\n")
        text = "git init -q . && git add README && git commit -qm x && git log -1 --format='%an <%ae> %cn'"
        expect_equal(run_in(project, text, env=environment_of(user)),
                     "Ada Lovelace <ada@example.org> Ada Lovelace\n", "the author")


if __name__ == "__main__":
    sys.exit(suite.run())
