#!/usr/bin/env python3
"""Repositories that want to run a program when git is called in them: nothing runs."""
import json
import sys

from support import Suite, call, expect, sandbox

suite = Suite()

# A repository with one commit, a change in a.txt, and a branch that conflicts with it.
REPOSITORY = """
set -e
cd /workspace
git init -q -b main .
git config user.name tester
git config user.email tester@nutshell
printf 'one\\ntwo\\n' > a.txt
git add a.txt
git commit -q -m first
git switch -q -c other
printf 'one\\nzwei\\n' > a.txt
git commit -q -a -m other
git switch -q main
printf 'one\\ndeux\\n' > a.txt
git commit -q -a -m third
printf 'one\\ndeux\\nthree\\n' > a.txt
printf '#!/bin/sh\\necho ran >> /tmp/trap\\n' > /workspace/evil
chmod +x /workspace/evil
"""
EVIL = "/workspace/evil"
READING = [["status"], ["diff"], ["log", "-p"], ["show"], ["blame", "a.txt"], ["branch", "-a"],
           ["stash", "list"], ["grep", "one"], ["ls-files"]]

# Traps, and the calls that would set them off.
TRAPS = {
    "fsmonitor": (f"git config core.fsmonitor {EVIL}", READING),
    "hooks": ("for h in pre-commit post-checkout post-commit prepare-commit-msg commit-msg "
              "reference-transaction post-index-change pre-merge-commit post-merge pre-rebase "
              f"post-rewrite; do cp {EVIL} .git/hooks/$h; done",
              [["commit", "-a", "-m", "x"], ["switch", "other"], ["status"]]),
    "hooks path": (f"mkdir h; for h in pre-commit post-checkout post-index-change; do cp {EVIL} "
                   "h/$h; done; git config core.hooksPath /workspace/h",
                   [["commit", "-a", "-m", "x"], ["checkout", "other"]]),
    "alias": (f"git config alias.st '!{EVIL}'; git config alias.foo.command '!{EVIL}'",
              [["st"], ["foo"]]),
    "autocorrect": (f"git config help.autocorrect -1; git config alias.stauts2 '!{EVIL}'",
                    [["stauts"]]),
    "external diff": (f"git config diff.external {EVIL}",
                      [["diff"], ["log", "-p"], ["show"], ["diff", "--ext-diff", "--no-ext-diff"],
                       ["stash", "show", "-p"], ["format-patch", "-1", "--stdout"]]),
    "diff driver": (f"echo '*.txt diff=x' > .gitattributes; git config diff.x.command {EVIL}",
                    READING),
    "textconv": (f"echo '*.txt diff=x' > .gitattributes; git config diff.x.textconv {EVIL}",
                 [*READING, ["commit", "-v", "-a", "-m", "x"]]),
    "filter": ("echo '*.txt filter=x' > .gitattributes; "
               f"git config filter.x.clean {EVIL}; git config filter.x.smudge {EVIL}; "
               "git config filter.x.required true; touch a.txt",
               [["status"], ["add", "a.txt"], ["checkout", "--", "a.txt"], ["stash"],
                ["archive", "HEAD"]]),
    "process filter": ("echo '*.txt filter=x' > .gitattributes; "
                       f"git config filter.x.process {EVIL}; touch a.txt",
                       [["status"], ["add", "a.txt"], ["checkout", "--", "a.txt"]]),
    "merge driver": ("echo '*.txt merge=x' > .gitattributes; "
                     f"git config merge.x.driver '{EVIL} %O %A %B'; git checkout -q -- a.txt",
                     [["merge", "other"], ["cherry-pick", "other"]]),
    "pager": (f"git config core.pager {EVIL}; git config pager.log {EVIL}", [["-p", "log"], ["log"]]),
    "editor": (f"git config core.editor {EVIL}; git config sequence.editor {EVIL}",
               [["commit", "-a"], ["rebase", "-i", "HEAD~1"]]),
    "gpg": (f"git config gpg.program {EVIL}; git config commit.gpgsign true; "
            "git config log.showSignature true",
            [["commit", "-a", "-m", "x"], ["log"], ["log", "--show-signature"],
             ["verify-commit", "HEAD"]]),
    "ssh command": (f"git config core.sshCommand {EVIL}; "
                    "git remote add origin ssh://127.0.0.1/x; mkdir -p .ssh; "
                    f"printf 'Host *\\n ProxyCommand {EVIL}\\n' > .ssh/config",
                    [["fetch"], ["push", "origin", "main"], ["ls-remote"]]),
    "ext remote": (f"git config protocol.ext.allow always; git remote add origin 'ext::{EVIL}'",
                   [["fetch"], ["ls-remote", "origin"]]),
    "upload-pack": (f"git remote add origin /workspace; git config remote.origin.uploadpack {EVIL}; "
                    f"git config remote.origin.receivepack {EVIL}",
                    [["fetch"], ["push", "origin", "main:x"], ["ls-remote"]]),
    "credential helper": (f"git config credential.helper '!{EVIL}'; "
                          f"git config credential.https://127.0.0.1.helper '!{EVIL}'; "
                          f"git config core.askPass {EVIL}; "
                          "git remote add origin https://u@127.0.0.1/x",
                          [["fetch"], ["credential", "fill"]]),
    "user configuration": (f"printf '[core]\\n fsmonitor = {EVIL}\\n[alias]\\n st = \"!{EVIL}\"\\n'"
                           " > ~/.gitconfig", [["status"], ["st"]]),
    "included file": (f"printf '[core]\\n fsmonitor = {EVIL}\\n[filter \"x\"]\\n clean = {EVIL}\\n'"
                      " > inc; git config include.path /workspace/inc; "
                      "echo '*.txt filter=x' > .gitattributes; touch a.txt",
                      [["status"], ["add", "a.txt"]]),
    "archive command": (f"git config tar.x.command {EVIL}; git config tar.tar.gz.command {EVIL}",
                        [["archive", "--format=x", "HEAD"],
                         ["archive", "--format=tar.gz", "-o", "/tmp/o", "HEAD"]]),
    "trailer": (f"git config trailer.x.command {EVIL}; git config trailer.y.cmd {EVIL}",
                [["commit", "-a", "-m", "x", "--trailer", "x=1", "--trailer", "y=1"]]),
    "embedded bare": (f"git init -q --bare sub; git -C sub config core.fsmonitor {EVIL}; "
                      f"git -C sub config alias.st '!{EVIL}'",
                      [["-C", "sub", "status"], ["-C", "sub", "st"], ["-C", "sub", "log"]]),
    "tools": (f"git config diff.tool x; git config difftool.x.cmd {EVIL}; "
              f"git config merge.tool x; git config mergetool.x.cmd {EVIL}",
              [["difftool", "-y"], ["mergetool"]]),
    "submodule": ("git init -q s; git -C s -c user.name=a -c user.email=a@b commit -q --allow-empty "
                  "-m x; git -c protocol.file.allow=always submodule -q add ./s s 2>/dev/null; "
                  f"git config -f .git/modules/s/config core.fsmonitor {EVIL} || true; "
                  f"git -C s config core.fsmonitor {EVIL}",
                  [["status"], ["diff"]]),
    "submodule update": ("git init -q s; git -C s -c user.name=a -c user.email=a@b commit -q "
                         "--allow-empty -m x; git -c protocol.file.allow=always submodule -q add "
                         f"./s s 2>/dev/null; git config submodule.s.update '!{EVIL}'",
                         [["submodule", "update"]]),
}


def shell(identifier, script):
    return call("exec", identifier, "--", "sh", "-c", script)


def set_off(name):
    plant, calls = TRAPS[name]
    with sandbox() as identifier:
        made = shell(identifier, REPOSITORY)
        expect(made.status == 0, f"the repository was not made: {made!r}")
        planted = shell(identifier, f"cd /workspace\n{plant}\nrm -f /tmp/trap")
        expect(planted.status == 0, f"the trap was not planted: {planted!r}")
        for arguments in calls:
            ended = call("tool", "call", "git", "-s", identifier, json.dumps({"args": arguments}))
            seen = shell(identifier, "cat /tmp/trap 2>/dev/null; rm -f /tmp/trap")
            expect(b"ran" not in seen.stdout,
                   f"git {' '.join(arguments)} ran the {name}: {ended!r}")


def plain_git_runs(name, arguments):
    """The trap is a real one: git without our guard steps into it."""
    plant, _ = TRAPS[name]
    with sandbox() as identifier:
        shell(identifier, REPOSITORY)
        shell(identifier, f"cd /workspace\n{plant}\nrm -f /tmp/trap")
        shell(identifier, f"cd /workspace && git {arguments}")
        seen = shell(identifier, "cat /tmp/trap 2>/dev/null")
        expect(b"ran" in seen.stdout, f"the {name} does not work at all")


@suite.case
def traps_are_real():
    for name, arguments in (("fsmonitor", "status"), ("hooks", "commit -q -a -m x"),
                            ("alias", "st"), ("external diff", "diff"), ("textconv", "diff"),
                            ("filter", "add a.txt"), ("merge driver", "merge other"),
                            ("upload-pack", "fetch"), ("ext remote", "fetch"),
                            ("user configuration", "status"), ("archive command",
                                                               "archive --format=x HEAD"),
                            ("submodule", "status"), ("diff driver", "diff")):
        plain_git_runs(name, arguments)


def add_case(name):
    def case():
        set_off(name)
    case.__name__ = "nothing_runs_by_" + name.replace(" ", "_").replace("-", "_")
    suite.case(case)


for trap in TRAPS:
    add_case(trap)


@suite.case
def git_still_works():
    with sandbox() as identifier:
        expect(shell(identifier, REPOSITORY).status == 0, "no repository")
        for arguments, wanted in ((["status"], "a.txt"), (["diff"], "+three"), (["log"], "third"),
                                  ("log -n 1 --format=%s", "third"),
                                  (["commit", "-a", "-m", "fourth"], "fourth"),
                                  (["log", "-n", "1"], "fourth"), (["blame", "a.txt"], "deux")):
            ended = call("tool", "call", "git", "-s", identifier, json.dumps({"args": arguments}))
            expect(wanted.encode() in ended.stdout and ended.status == 0,
                   f"git {arguments}: {ended!r}")


@suite.case
def reading_profile_changes_nothing():
    with sandbox() as identifier:
        expect(shell(identifier, REPOSITORY).status == 0, "no repository")
        for arguments in (["commit", "-a", "-m", "x"], ["checkout", "--", "a.txt"],
                          ["diff", "--output=/workspace/new"], ["branch", "-D", "other"],
                          ["-c", "alias.x=!id", "x"], ["stash"]):
            ended = call("tool", "call", "git", "-s", identifier, "--profile", "readonly",
                         json.dumps({"args": arguments}))
            expect(ended.status == 65 and ended.stdout.startswith(b"permission_denied:"),
                   f"git {arguments}: {ended!r}")
        ended = call("tool", "call", "git", "-s", identifier, "--profile", "readonly",
                     '{"args": "status"}')
        expect(ended.status == 0, repr(ended))


if __name__ == "__main__":
    sys.exit(suite.run())
