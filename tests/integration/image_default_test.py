#!/usr/bin/env python3
"""Builds the default image from Debian packages, once, and uses each of its tools in a sandbox."""
import json
import os
import subprocess
import sys

from support import Skip, Suite, call, expect, expect_equal, is_full, scratch

suite = Suite()
MOST_BYTES = 40_000_000

# The command to run for each tool, and its expected output.
TOOLS = {
    "bash": ("bash -c 'a=(1 2 3); echo ${#a[@]}'", "3\n"),
    "sh": ("sh -c 'echo $0'", "sh\n"),
    "git": ("git init -q /workspace/o && cd /workspace/o && git config user.email a@b && "
            "git config user.name n && echo 1 > f && git add f && git commit -qm first && "
            "git clone -q /workspace/o /workspace/c && git -C /workspace/c log --format=%s",
            "first\n"),
    "git over a pipe": ("git init -q /workspace/p && "
                        "git ls-remote file:///workspace/p && echo done", "done\n"),
    "curl": ("curl --version | grep -o '^Protocols:.*https' | grep -o https", "https\n"),
    "curl finds certificates": ("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt | "
                                "grep -q '^1[0-9][0-9]' && echo many", "many\n"),
    "git can do https": ("git ls-remote https://127.0.0.1:1/x 2>&1 | grep -o 'unable to access'",
                         "unable to access\n"),
    "jq": ("echo '{\"a\":[1,2]}' | jq -c .a[1]", "2\n"),
    "ripgrep": ("cd /workspace && echo needle > hay && rg -l needle", "hay\n"),
    "busybox": ("printf 'b\\na\\n' | sort | head -n 1 | sed s/a/A/ | awk '{print $1}'", "A\n"),
    "find and tar": ("cd /tmp && mkdir d && touch d/f && tar -cf x.tar d && tar -tf x.tar | sort | "
                     "tail -n 1; find d -type f | xargs ls", "d/f\nd/f\n"),
    "user database": ("id -un", "sandbox\n"),
}


@suite.case
def the_default_image_has_its_tools():
    if not is_full() and os.geteuid() == 0:
        raise Skip("made once, by the plain user: scripts/test --full makes it as root too")
    with scratch() as place:
        os.environ["NUTSHELL_IMAGE_DIR"] = str(place / "images")
        try:
            built = call("image", "build-default", "--json", seconds=300)
            if built.status != 0 and b"it needs apt-get" in built.stderr:
                raise Skip("no packages: " + built.stderr.decode().splitlines()[0][:200])
            expect_equal(built.status, 0, f"build-default: {built!r}")
            check_image(json.loads(built.stdout))
        finally:
            del os.environ["NUTSHELL_IMAGE_DIR"]
            subprocess.run(["chmod", "-R", "u+rwX", str(place)], check=False)


def check_image(image):
    expect_equal(image["names"], ["default:latest"], "its name")
    expect(image["bytes"] <= MOST_BYTES, f"{image['bytes']} bytes")
    used = subprocess.run(["du", "-sb", image["root"]], capture_output=True, check=True, text=True)
    expect(int(used.stdout.split()[0]) <= MOST_BYTES, f"on disk: {used.stdout}")
    made = call("create", "--image", "default").stdout.decode().strip()
    try:
        for name, (text, wanted) in TOOLS.items():
            ended = call("exec", made, "--", "bash", "-c", text)
            expect_equal(ended.stdout.decode(), wanted, f"{name}: {ended!r}")
    finally:
        call("destroy", made)
    links = call("run", "--image", "default", "--", "bash", "-c",
                 "for f in /usr/bin/*; do [ -e $f ] || echo $f; done; "
                 "busybox --list > /tmp/known; for f in /usr/bin/*; do "
                 "[ \"$(readlink $f)\" != busybox ] || grep -qxF -- ${f##*/} /tmp/known || echo $f; done")
    expect_equal(links.stdout, b"", "links that lead nowhere, or to what busybox is not")
    ended = call("run", "--image", "default", "--", "ldd")
    expect_equal(ended.status, 127, "what is not in it")


if __name__ == "__main__":
    sys.exit(suite.run())
