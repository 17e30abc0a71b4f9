#!/usr/bin/env python3
"""Imports images from a real engine, and copies images to a real engine."""
import os
import sys

from engines import IMAGE, engine
from image_archives import Image, entry, layer, shell_entries, write_archive
from image_fixture import store
from support import Suite, call, expect, expect_equal, expect_refusal

suite = Suite()


def check_both_ways(where):
    with store() as place:
        ended = call("image", "import", f"{where.backend}:{IMAGE}", "--name", "theirs")
        expect_equal(ended.status, 0, f"import from {where.backend}: {ended!r}")
        ended = call("run", "--image", "theirs", "--", "sh", "-c", "echo native $((1+1))")
        expect_equal(ended.stdout, b"native 2\n", f"an image of {where.backend} here: {ended!r}")
        expect_refusal(call("image", "import", f"{where.backend}:no-such-image"), "no-such-image")
        app = Image(layer(*shell_entries(), entry("etc/who", b"stored\n")),
                    environment=["GREETING=hello"])
        path = write_archive(place / "app.tar", app.saved_files("app:7"))
        expect_equal(call("image", "import", str(path)).status, 0, "import of a tar")
        for _ in range(2):
            ended = call("run", "--backend", where.backend, "--image", "app:7", "--", "sh", "-c",
                         "cat /etc/who; echo $GREETING")
            expect_equal(ended.stdout, b"stored\nhello\n", f"run on {where.backend}: {ended!r}")
        ids = [image for image in where.ask("GET", "/images/json")[1]
               if any("nutshell-image/" in tag for tag in image.get("RepoTags") or [])]
        expect_equal(len(ids), 1, "images that the engine was given")
        where.ask("DELETE", "/images/" + ids[0]["Id"] + "?force=1")


@suite.case
def images_go_to_docker_and_come_back():
    check_both_ways(engine("docker"))


@suite.case
def images_go_to_podman_and_come_back():
    check_both_ways(engine("podman"))


@suite.case
def an_engine_that_is_not_there_is_an_error():
    with store():
        os.environ["DOCKER_HOST"] = "unix:///nowhere/engine.sock"
        ended = call("image", "import", "docker:app", "--name", "app")
        expect(ended.status == 125 and b"/nowhere/engine.sock" in ended.stderr, repr(ended))


if __name__ == "__main__":
    sys.exit(suite.run())
