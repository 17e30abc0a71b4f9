"""A private image store for a test case, and an image of two layers to import."""
import os
import subprocess
from contextlib import contextmanager

from image_archives import Image, directory, entry, layer, shell_entries
from support import call, expect_equal, scratch

BASE = layer(*shell_entries(), entry("etc/who", b"base\n"), entry("etc/gone", b"x"),
             entry("opt/old/a", b"x"), entry("opt/old/b", b"x"))
UPPER = layer(entry("etc/who", b"upper\n"), entry("etc/.wh.gone"), directory("opt/old"),
              entry("opt/old/.wh..wh..opq"), entry("opt/old/new", b"x"))


@contextmanager
def store():
    """A private store; checks at the end that nothing unfinished is left in it."""
    with scratch() as place:
        os.environ["NUTSHELL_IMAGE_DIR"] = str(place / "images")
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        try:
            yield place
            left = list((place / "images/partial").glob("*"))
            expect_equal(left, [], "unfinished imports")
        finally:
            del os.environ["NUTSHELL_IMAGE_DIR"], os.environ["XDG_CACHE_HOME"]
            subprocess.run(["chmod", "-R", "u+rwX", str(place)], check=False)


def import_image(*words, **settings):
    ended = call("image", "import", *map(str, words), **settings)
    expect_equal(ended.status, 0, f"import {words}: {ended!r}")
    return ended


def names():
    return call("image", "list", "-q").stdout.decode().split()


def layers_in(place):
    return sorted(path.name for path in (place / "images/layers").glob("*"))


def app():
    return Image(BASE, UPPER, environment=["GREETING=hello", "OTHER=theirs", "HOME=/root"])
