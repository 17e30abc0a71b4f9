#!/usr/bin/env python3
"""Imported images: their content, layers that are shared, and what a killed import leaves."""
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from image_archives import Image, digest_of, entry, layer, write_archive, write_directory
from image_fixture import BASE, UPPER, app, import_image, layers_in, names, store
from support import (NUTSHELL, Suite, call, expect, expect_equal, expect_refusal, repetitions,
                     runtime_directory, sandbox, start, wait_until)

suite = Suite()


def check_app(name):
    ended = call("run", "--image", name, "--", "cat", "/etc/who")
    expect_equal((ended.status, ended.stdout), (0, b"upper\n"), f"{name}: the upper layer counts")
    ended = call("run", "--image", name, "--", "ls", "/etc/gone")
    expect(ended.status != 0, f"{name}: a whiteout takes the file away: {ended!r}")
    ended = call("run", "--image", name, "--", "ls", "/opt/old")
    expect_equal(ended.stdout, b"new\n", f"{name}: an opaque directory begins anew")
    ended = call("run", "--image", name, "--env", "OTHER=mine", "--", "env")
    lines = ended.stdout.decode().split("\n")
    expect("GREETING=hello" in lines and "OTHER=mine" in lines, f"{name}: environment {lines}")
    expect("HOME=/tmp/home" in lines, f"{name}: HOME is the sandbox's: {lines}")
    ended = call("run", "--image", name, "--", "sh", "-c", "echo x > /etc/who")
    expect(ended.status != 0 and b"Read-only" in ended.stderr, f"{name}: it is read-only: {ended!r}")


@suite.case
def every_form_gives_the_same_image():
    with store() as place:
        forms = {"saved": write_archive(place / "saved.tar", app().saved_files()),
                 "oci": write_directory(place / "layout", app().oci_files()),
                 "ocitar": write_archive(place / "layout.tar", app().oci_files(packed=False))}
        for name, path in forms.items():
            import_image(path, "--name", name)
        check_app("saved")
        ids = {image["id"] for image in json.loads(call("image", "list", "--json").stdout)}
        expect_equal(len(ids), 1, "the same configuration is the same image")
        expect_equal(layers_in(place), sorted([digest_of(BASE), digest_of(UPPER)]), "layers, once")
        for name in ("saved:latest", "oci:latest", "ocitar:latest"):
            expect(name in names(), f"{name} is listed: {names()}")
        shown = call("image", "info", "oci").stdout.decode()
        expect("GREETING=hello" in shown and digest_of(UPPER) in shown, f"info: {shown}")
        call("image", "remove", "saved", "oci")
        check_app("ocitar")
        ended = call("image", "remove", "ocitar")
        expect_equal(ended.status, 0, f"remove: {ended!r}")
        expect_equal((names(), layers_in(place)), ([], []), "what is left of it")


@suite.case
def packed_root_file_systems_are_one_layer():
    with store() as place:
        plain = place / "tiny.tar"
        plain.write_bytes(BASE)
        (place / "tiny.tar.gz").write_bytes(gzip.compress(BASE))
        (place / "tiny.tar.xz").write_bytes(lzma.compress(BASE, preset=0))
        for path in (plain, place / "tiny.tar.gz", place / "tiny.tar.xz"):
            said = import_image(path).stdout.decode()
            expect(said.startswith("tiny:latest "), f"named after its file: {said}")
        expect_equal(layers_in(place), [digest_of(BASE)], "the layers of three archives")
        ended = call("image", "import", "-", "--name", "a/b:2", given=BASE)
        expect_equal(ended.status, 0, repr(ended))
        ended = call("run", "--image", "a/b:2", "--", "cat", "/etc/who")
        expect_equal(ended.stdout, b"base\n", "from standard input")
        with sandbox("--image", "tiny") as made:
            expect_equal(call("exec", made, "--", "cat", "/etc/who").stdout, b"base\n", "kept")


@suite.case
def layers_are_shared_and_go_with_their_last_image():
    with store() as place:
        other = Image(BASE, layer(entry("etc/who", b"other\n")))
        import_image(write_archive(place / "a.tar", app().saved_files("one:1")))
        said = import_image(write_archive(place / "b.tar", other.saved_files("two:1"))).stdout
        expect(b"1 of 2 layers new" in said, f"the base is there already: {said!r}")
        files = {os.stat(path / "etc/who").st_nlink
                 for path in (place / "images/images").glob("*/root")}
        expect_equal(files, {2}, "links of a file that an image shares with its layer")
        call("image", "remove", "one:1")
        expect(digest_of(BASE) in layers_in(place), "the other image still has the base")
        expect(digest_of(UPPER) not in layers_in(place), "and nobody the upper layer")
        expect_equal(call("run", "--image", "two:1", "--", "cat", "/etc/who").stdout, b"other\n",
                     "the other image")


@suite.case
def a_name_moves_to_the_newer_image():
    with store() as place:
        first = import_image(write_archive(place / "a.tar", app().saved_files()), "--name", "x")
        (place / "b.tar").write_bytes(BASE)
        second = import_image(place / "b.tar", "--name", "x")
        expect(first.stdout.split()[1] != second.stdout.split()[1], "two images")
        expect_equal(names(), ["x:latest"], "names")
        expect_equal(layers_in(place), [digest_of(BASE)], "the older one's own layer is gone")


@suite.case
def a_used_image_is_not_removed():
    with store() as place:
        (place / "tiny.tar").write_bytes(BASE)
        import_image(place / "tiny.tar")
        with sandbox("--image", "tiny") as made:
            expect_refusal(call("image", "remove", "tiny"), "in use")
            expect_equal(names(), ["tiny:latest"], "names")
            expect_equal(call("exec", made, "--", "cat", "/etc/who").stdout, b"base\n", "kept")
        process = start("run", "-i", "--image", "tiny", "--", "sh", "-c", "echo up; cat",
                        stdin=subprocess.PIPE)
        expect_equal(process.stdout.readline(), b"up\n", "a run")
        wait_until(lambda: not call("list", "-q").stdout)
        expect_refusal(call("image", "remove", "tiny"), "in use")
        process.communicate(timeout=20)
        expect(wait_until(lambda: call("image", "remove", "tiny").status == 0), "never removed")


@suite.case
def unknown_names_get_a_hint():
    with store() as place:
        expect_refusal(call("run", "--image", "debian", "--", "true"), "no image 'debian'",
                       "image import", "build-default")
        (place / "tiny.tar").write_bytes(BASE)
        import_image(place / "tiny.tar")
        for way in (("run", "--image", "tinny", "--", "true"), ("image", "remove", "tinny"),
                    ("image", "info", "tinny"), ("create", "--image", "tinny")):
            expect_refusal(call(*way), "no image 'tinny'", "did you mean 'tiny")
        expect_refusal(call("run", "--image", "./tinny", "--", "true"), "No such file")


@suite.case
def a_directory_here_does_not_take_a_names_place():
    with store() as place:
        (place / "tiny.tar").write_bytes(BASE)
        import_image(place / "tiny.tar", "--name", "tiny")
        (place / "here/tiny/etc").mkdir(parents=True)
        ended = call("run", "--image", "tiny", "--", "cat", "/etc/who", cwd=str(place / "here"))
        expect_equal(ended.stdout, b"base\n", "a repository with a directory called tiny")
        ended = call("run", "--image", "./tiny", "--", "cat", cwd=str(place / "here"))
        expect_equal(ended.status, 127, "by path it is the directory")


@suite.case
def a_killed_import_leaves_only_what_gc_removes():
    with store() as place:
        path = write_archive(place / "app.tar", app().saved_files())
        kept = place / "kept.tar"
        kept.write_bytes(BASE)
        import_image(kept)
        began = time.monotonic()
        import_image(path, "--name", "whole")
        usual = time.monotonic() - began
        call("image", "remove", "whole")
        for number in range(repetitions(6, 60)):
            process = start("image", "import", str(path), "--name", "app")
            time.sleep(usual * 1.1 * number / repetitions(6, 60))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if "app:latest" in names():
                expect_equal(call("run", "--image", "app", "--", "cat", "/etc/who").stdout,
                             b"upper\n", "one that has its name is whole")
                call("image", "remove", "app")
            expect(wait_until(lambda: call("gc").status == 0
                              and not list((place / "images/partial").glob("*"))), "gc")
            expect_equal(names(), ["kept:latest"], "names")
            expect_equal(layers_in(place), [digest_of(BASE)], "layers after gc")
        check = call("run", "--image", "kept", "--", "cat", "/etc/who")
        expect_equal(check.stdout, b"base\n", "the image that was there before")


@suite.case
def imports_and_removals_at_once_end_well():
    with store() as place:
        path = write_archive(place / "app.tar", app().saved_files())
        answers = []

        def work(number):
            for _ in range(repetitions(1, 20)):
                answers.append(call("image", "import", str(path), "--name", f"n{number}"))
                ended = call("run", "--image", f"n{number}", "--", "cat", "/etc/who")
                if ended.stdout != b"upper\n":
                    answers.append(ended)
                answers.append(call("image", "remove", f"n{number}"))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bad = [ended for ended in answers if ended.status != 0]
        expect_equal(bad, [], "imports, runs and removals")
        expect_equal((names(), layers_in(place)), ([], []), "what is left")


@suite.case
def a_daemon_resolves_names():
    with store() as place:
        (place / "tiny.tar").write_bytes(BASE)
        import_image(place / "tiny.tar")
        (place / "here/tiny").mkdir(parents=True)
        socket = runtime_directory() / "nutshelld.sock"
        with open(place / "log", "wb") as log:
            daemon = subprocess.Popen([str(Path(NUTSHELL).parent / "nutshelld"), "--state",
                                       str(place / "state")], stdin=subprocess.DEVNULL, stderr=log)
        settings = {"env": dict(os.environ, NUTSHELL_DAEMON=str(socket)),
                    "cwd": str(place / "here")}
        try:
            expect(wait_until(socket.exists), "the daemon does not start")
            made = call("create", "--image", "tiny", **settings).stdout.decode().strip()
            ended = call("exec", made, "--", "cat", "/etc/who", **settings)
            expect_equal(ended.stdout, b"base\n", f"by name, through a daemon: {ended!r}")
            expect_refusal(call("image", "remove", "tiny"), "in use")
            call("destroy", made, **settings)
            expect_refusal(call("create", "--image", "tinny", **settings), "did you mean 'tiny'")
        finally:
            daemon.terminate()
            daemon.wait(60)


@suite.case
def a_daemon_starts_beside_the_first_image():
    """Root's images are in the daemon's directory, which must be private."""
    with store() as place:
        os.environ["NUTSHELL_IMAGE_DIR"] = str(place / "lib/nutshell/images")
        import_image(write_archive(place / "app.tar", app().saved_files()))
        made = (place / "lib/nutshell").stat()
        expect_equal((made.st_mode & 0o7777, made.st_uid), (0o700, os.geteuid()), "who may enter")


@suite.case
def a_store_that_others_can_write_to_is_refused():
    with store() as place:
        (place / "images").mkdir()
        (place / "images").chmod(0o777)
        expect_refusal(call("image", "list"), "NUTSHELL_IMAGE_DIR")
        (place / "images").chmod(0o700)


if __name__ == "__main__":
    sys.exit(suite.run())
