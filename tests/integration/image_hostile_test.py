#!/usr/bin/env python3
"""Hostile images are refused: nothing is written outside, and nothing is left."""
import gzip
import json
import os
import sys
import tarfile

from image_archives import (MACHINE, Image, digest_of, directory, entry, hard_link, layer, symlink,
                            write_archive)
from image_fixture import BASE, app, import_image, layers_in, names, store
from support import Suite, call, expect, expect_equal, expect_refusal

suite = Suite()


def spoiled_saves():
    """Yields spoiled images, each with a part of the expected message."""
    def changed(change, **settings):
        files = app().saved_files()
        listed = json.loads(files["manifest.json"])
        change(files, listed[0])
        files["manifest.json"] = json.dumps(listed).encode()
        return files

    def swap_layer(files, listed):
        files[listed["Layers"][1]] = layer(entry("etc/who", b"evil\n"))

    def lead_out(files, listed):
        listed["Layers"][0] = "../../../../../../etc/hostname"

    def lead_out_config(files, listed):
        listed["Config"] = "/etc/hostname"

    def lose_layer(files, listed):
        del files[listed["Layers"][0]]

    def drop_layer(files, listed):
        listed["Layers"].pop()

    def change_config(files, listed):
        files[listed["Config"]] = files[listed["Config"]].replace(b"hello", b"HELLO")

    def cut_layer(files, listed):
        files[listed["Layers"][0]] = files[listed["Layers"][0]][:5000]
    yield changed(swap_layer), "should have sha256"
    yield changed(lead_out), ""
    yield changed(lead_out_config), ""
    yield changed(lose_layer), "No such file"
    yield changed(drop_layer), "lists 1 layers, but its configuration lists 2"
    yield changed(change_config), "should have sha256"
    yield changed(cut_layer), "layer 1 of 2"
    yield {**app().saved_files(), "manifest.json": b"[" * 100000, "repositories": b"{}"}, "nested"
    yield {**app().saved_files(), "manifest.json": b" " * (5 << 20), "repositories": b"{}"}, ""
    wrong = Image(BASE, architecture="s390x")
    yield wrong.saved_files(), "s390x"


def spoiled_layouts():
    def changed(change):
        files = app().oci_files()
        index = json.loads(files["index.json"])
        change(files, index)
        files["index.json"] = json.dumps(index).encode()
        return files

    def path_digest(files, index):
        index["manifests"][0]["digest"] = "sha256:../../../etc/passwd"

    def itself(files, index):
        text = json.dumps({"manifests": [dict(index["manifests"][0])]}).encode()
        files["blobs/sha256/" + digest_of(text)] = text
        index["manifests"][0] = {"mediaType": "application/vnd.oci.image.index.v1+json",
                                 "digest": "sha256:" + "0" * 64, "size": len(text)}
        files["blobs/sha256/" + "0" * 64] = text

    def many(files, index):
        text = b'{"manifests":[]}'
        for _ in range(60):
            files["blobs/sha256/" + digest_of(text)] = text
            one = {"mediaType": "application/vnd.oci.image.index.v1+json",
                   "digest": "sha256:" + digest_of(text), "size": len(text)}
            text = json.dumps({"manifests": [one, one]}).encode()
        index["manifests"] = [one]

    def other_machine(files, index):
        index["manifests"][0]["platform"] = {"os": "linux", "architecture": "s390x"}

    def two(files, index):
        other = json.loads(json.dumps(index["manifests"][0]))
        other["digest"] = "sha256:" + "1" * 64
        index["manifests"].append(other)

    def spoil_manifest(files, index):
        files["blobs/" + index["manifests"][0]["digest"].replace(":", "/")] += b" "

    def spoil_layer(files, index):
        for name in files:
            if name.startswith("blobs") and files[name][:2] == b"\x1f\x8b":
                files[name] = files[name][:-8] + b"\0" * 8
    yield changed(path_digest), "not a digest"
    yield changed(itself), "should have sha256"
    yield changed(many), "more than 16"
    yield changed(other_machine), "no image in it fits linux/" + MACHINE
    yield changed(two), "several images"
    yield changed(spoil_manifest), "should have sha256"
    yield changed(spoil_layer), "layer 1 of 2"


@suite.case
def spoiled_images_are_refused_and_leave_nothing():
    with store() as place:
        for number, (files, message) in enumerate([*spoiled_saves(), *spoiled_layouts()]):
            path = write_archive(place / f"{number}.tar", files)
            ended = call("image", "import", str(path), "--name", "bad")
            expect_refusal(ended, message)
            expect_equal((names(), layers_in(place)), ([], []), f"left of {number} ({message})")
            path.unlink()


@suite.case
def hostile_archives_write_nothing_outside():
    with store() as place:
        outside = place / "outside"
        outside.mkdir()
        (outside / "precious").write_bytes(b"mine")
        many = [entry(f"f{number}") for number in range(3000)]
        deep = "/".join(["d"] * 300)
        archives = {
            "leads out": [entry("../outside/precious", b"evil")],
            "leads out ": [entry("a/../../outside/x", b"evil")],
            "link": [symlink("a", str(outside)), entry("a/precious", b"evil")],
            "link ": [symlink("a", "../../../../outside"), entry("a/b/x", b"evil")],
            "": [hard_link("a", str(outside / "precious"))],
            "leads out  ": [hard_link("a", "../../../../outside/precious")],
            " entries": many,
            "deeper than": [directory(deep)],
            "the archive holds more than": [entry("big", b"\0" * (9 << 20))],
            "which is not a file": [entry("a/.wh..."), entry("x")],
        }
        for message, entries in archives.items():
            for packed in (False, True):
                bad = Image(layer(entry("below", b"x")), layer(*entries))
                files = bad.oci_files() if packed else bad.saved_files()
                path = write_archive(place / "bad.tar", files)
                ended = call("image", "import", str(path), "--name", "bad", "--max-entries", "1000",
                             "--max-size", "8m", "--max-ratio", "100000")
                expect_refusal(ended, message.strip())
                expect_equal((names(), layers_in(place)), ([], []), f"left of {message}")
        expect_equal([path.name for path in outside.iterdir()], ["precious"], "files outside")
        expect_equal((outside / "precious").read_bytes(), b"mine", "a file outside")
        expect_equal(os.stat(outside / "precious").st_nlink, 1, "its links")
        zeros = gzip.compress(layer(entry("zeros", b"\0" * (70 << 20))), 6)
        (place / "bomb.tar.gz").write_bytes(zeros)
        expect_refusal(call("image", "import", str(place / "bomb.tar.gz")), "times its size")


@suite.case
def devices_and_set_id_bits_are_dropped():
    with store() as place:
        node = tarfile.TarInfo("dev/sda")
        node.type, node.devmajor, node.devminor = tarfile.BLKTYPE, 8, 0
        pipe = tarfile.TarInfo("run/pipe")
        pipe.type = tarfile.FIFOTYPE
        path = place / "odd.tar"
        path.write_bytes(layer((node, b""), (pipe, b""), entry("bin/su", b"x", mode=0o6755)))
        ended = import_image(path)
        expect(b"2 devices, FIFOs or sockets were left out" in ended.stderr, f"it is said: {ended!r}")
        root = next((place / "images/images").glob("*/root"))
        expect(not (root / "dev/sda").exists() and not (root / "run/pipe").exists(), "no nodes")
        expect_equal((root / "bin/su").stat().st_mode & 0o7777, 0o755, "set-id bits")


@suite.case
def bad_names_are_refused():
    with store() as place:
        (place / "tiny.tar").write_bytes(BASE)
        for name in ("../x", "/etc/x", "a b", "a\nb", "-x", ".x", "a:b:c", "x" * 300, "\x1b[2J"):
            ended = call("image", "import", str(place / "tiny.tar"), f"--name={name}")
            expect_refusal(ended, "is not a name for an image")
            expect(b"\x1b" not in ended.stderr, "what a terminal obeys")
        files = app().saved_files("evil\nname\x1b[2J:1")
        path = write_archive(place / "ok.tar", files)
        import_image(path)
        expect_equal(names(), ["ok:latest"], "a name that is none is not taken from the archive")


if __name__ == "__main__":
    sys.exit(suite.run())
