#!/usr/bin/env python3
"""Writes the files that the fuzzers start from: run tests/fuzz/write_seeds.py, then look at git diff.

One small, valid input per kind of message, so that the fuzzers begin behind the first checks. What
a fuzzer finds is added to the corpus by hand, under a name that says what it was.
"""

import gzip
import io
import json
import lzma
import struct
import tarfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
MAGIC, VERSION = 0x6C6C656873747541, 2


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(map(text, values))


def frame(kind, payload=b"", conversation=1):
    return struct.pack("<IIB3x", len(payload), conversation, kind) + payload


def file_info(path=b"a"):
    return text(path) + struct.pack("<BIQq", 1, 0o644, 5, 10**18) + text("")


def exec_request():
    return (text("id") + texts(["sh", "-c", "true"]) + texts(["A=1"]) + text("/tmp") +
            struct.pack("<qQqBBBHHIB", 30000, 1 << 26, 300000, 1, 1, 0, 24, 80, 1 << 20, 0))


def ended():
    return struct.pack("<BiiqqQQQBB", 0, 0, 0, 1, 2, 3, 4, 5, 0, 1) + text("detail")


def output(offset, data, stream=1):
    return frame(41, struct.pack("<BQ", stream, offset) + text(data))


MESSAGES = {
    "hello": (1, struct.pack("<QI", MAGIC, VERSION)),
    "exec": (10, exec_request()),
    "attach": (11, text("id") + struct.pack("<QQ", 1, 2)),
    "input": (12, text("bytes")),
    "input_end": (13, b""),
    "consumed": (14, struct.pack("<BQ", 1, 100)),
    "resize": (15, struct.pack("<HH", 24, 80)),
    "signal": (16, struct.pack("<I", 15)),
    "cancel": (17, b""),
    "close_output": (18, b"\x01"),
    "read_file": (20, text("/file") + struct.pack("<QQIB", 1, 100, 1 << 16, 0)),
    "write_file": (21, text("/file") + struct.pack("<IBQ", 0o644, 0, 0)),
    "file_data": (22, text("bytes")),
    "file_end": (23, b""),
    "stat": (24, text("/file") + b"\x00"),
    "walk": (25, text("/") + struct.pack("<II", 10, 1 << 16)),
    "make_directory": (26, text("/folder") + struct.pack("<IB", 0o755, 1)),
    "make_link": (27, text("/link") + text("target")),
    "suspend": (30, b""),
    "continue": (31, b""),
    "ping": (32, b""),
    "read_text": (60, text("/file") + struct.pack("<QQII", 1, 100, 1 << 16, 1000)),
    "put_file": (61, text("/file") + struct.pack("<I", 0o644) + text("")),
    "edit_file": (62, text("/file") + struct.pack("<I", 1) + text("text") + text("new") + b"\x00" + text("")),
    "remove": (63, text("/file") + b"\x01"),
    "undo": (67, text("")),
    "begin_change": (68, text("bash")),
    "end_change": (69, text("c1")),
    "output": (41, struct.pack("<BQ", 1, 0) + text("bytes")),
    "input_consumed": (42, struct.pack("<Q", 100)),
    "ended": (43, ended()),
    "failed": (44, b"\x01" + text("reason")),
    "file_info": (45, file_info()),
    "entries": (46, struct.pack("<I", 2) + file_info() + file_info(b"b")),
    "done": (47, b""),
}

CLIENTS = {
    "exec": b"\x00" + output(0, "out") + output(0, "err", 2) + output(3, "more") + frame(43, ended()),
    "exec_lost": b"\x00" + output(0, "half"),
    "exec_failed": b"\x00" + frame(44, b"\x01" + text("reason")),
    "attach": b"\x01" + output(3, "on") + frame(43, ended()),
    "ping": b"\x02" + frame(47),
    "stat": b"\x03" + frame(45, file_info()),
    "read": b"\x04" + frame(45, file_info()) + frame(22, text("bytes")) + frame(47),
    "write": b"\x05" + frame(42, struct.pack("<Q", 300)) + frame(47),
    "walk": b"\x06" + frame(*MESSAGES["entries"]) + frame(47),
    "two_requests": b"\x07" + frame(47) + frame(43, ended(), 2),
    "greets_itself": b"\x82" + frame(*MESSAGES["hello"], conversation=0) + frame(47),
}

HOSTS = {
    "tools": (frame(*MESSAGES["put_file"]) + frame(22, text("text\r\n")) + frame(23) +
              frame(*MESSAGES["read_text"], conversation=2) + frame(*MESSAGES["edit_file"], conversation=3) +
              frame(*MESSAGES["undo"], conversation=4) + frame(*MESSAGES["remove"], conversation=5) +
              frame(*MESSAGES["undo"], conversation=6)),
    "edits_that_miss": (frame(*MESSAGES["put_file"]) + frame(22, text("\tone line\nanother line\n")) + frame(23) +
                        frame(62, text("/file") + struct.pack("<I", 2) + text("another") + text("a") + b"\x00" +
                              text("  one  line") + text("") + b"\x01" + text(""), 2)),
    "former_state": (frame(*MESSAGES["put_file"]) + frame(22, text("new")) + frame(23) +
                     frame(20, text("/file") + struct.pack("<QQIB", 0, 100, 1 << 16, 1), 2)),
    "change_by_copy": (frame(*MESSAGES["begin_change"]) + frame(*MESSAGES["write_file"], conversation=2) +
                       frame(22, text("text"), 2) + frame(23, b"", 2) + frame(*MESSAGES["end_change"], conversation=3) +
                       frame(*MESSAGES["undo"], conversation=4)),
    "utf_16": (frame(*MESSAGES["put_file"]) + frame(22, text("\ufefft\u00e4xt".encode("utf-16-le"))) + frame(23) +
               frame(*MESSAGES["read_text"], conversation=2) + frame(*MESSAGES["edit_file"], conversation=3)),
    "read": frame(*MESSAGES["read_file"]) + frame(*MESSAGES["consumed"]),
    "write": frame(*MESSAGES["write_file"]) + frame(22, text("text")) + frame(23),
    "write_range": frame(21, text("x") + struct.pack("<IBQ", 0, 1, 3)) + frame(22, text("t")) + frame(23),
    "folder_and_walk": frame(*MESSAGES["make_directory"]) + frame(*MESSAGES["walk"], conversation=2),
    "link_and_stat": frame(*MESSAGES["make_link"]) + frame(*MESSAGES["stat"], conversation=2),
    "many": b"".join(frame(*MESSAGES["ping"], conversation=n) for n in range(1, 40)),
    "two_writes": (frame(*MESSAGES["write_file"]) + frame(*MESSAGES["write_file"], conversation=2) +
                   frame(22, text("a")) + frame(22, text("b"), 2) + frame(23) + frame(23, b"", 2)),
}

CONFIGS = {
    "texts": b'backend = "native"\nmemory = "1g"\ncpus = 0.5\nprocesses = 32\nttl = "5m"\ntimeout = "10s"\n',
    "lists": b'env = ["A=1", "B=2"]\nlabels = ["team=x"]\nrequire = ["memory=hard,seccomp"]\n',
    "table": b'[limits]\nmemory = "1g"\n',
    "types": b"memory = true\nprocesses = 1979-05-27\ncpus = inf\n",
    "broken": b'memory = "1g\n',
}


DIGEST = "sha256:" + "ab" * 32


def descriptor(kind, **more):
    return {"mediaType": "application/vnd.oci.image." + kind, "digest": DIGEST, "size": 7, **more}


def image_texts():
    config = {"os": "linux", "architecture": "amd64", "config": {"Env": ["PATH=/bin", "A=1"]},
              "rootfs": {"type": "layers", "diff_ids": [DIGEST]}}
    index = {"schemaVersion": 2, "manifests": [
        descriptor("manifest.v1+json", platform={"os": "linux", "architecture": "amd64"},
                   annotations={"org.opencontainers.image.ref.name": "app:1"}),
        descriptor("index.v1+json")]}
    manifest = {"schemaVersion": 2, "config": descriptor("config.v1+json"),
                "layers": [descriptor("layer.v1.tar+gzip")]}
    saved = [{"Config": "ab.json", "RepoTags": ["app:1"], "Layers": ["ab/layer.tar"]}]
    report = f"packed {'ab' * 32}\nunpacked {'cd' * 32}\nbytes 1\nentries 2\nskipped 0\n"
    elf = bytearray(64 + 3 * 56 + 128)
    elf[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", elf, 32, 64)
    struct.pack_into("<HHH", elf, 52, 64, 56, 3)
    for number, kind in enumerate((1, 2, 3)):  # load, dynamic, interpreter
        struct.pack_into("<IIQQQQQQ", elf, 64 + number * 56, kind, 4, 232 if kind > 1 else 0,
                         0, 0, 64 if kind > 1 else len(elf), 64, 8)
    struct.pack_into("<QQQQQQ", elf, 232, 1, 1, 5, 300, 0, 0)
    elf[300:312] = b"\0libc.so.6\0\0"
    return {"index": json.dumps(index).encode(), "manifest": json.dumps(manifest).encode(),
            "config": json.dumps(config).encode(), "saved": json.dumps(saved).encode(),
            "report": report.encode(), "name": b"localhost:5000/team/app:1.2",
            "twice": b'{"manifests":[],"manifests":[]}', "deep": b"[" * 64, "elf": bytes(elf)}


def archive(*entries):
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, kind, link, data in entries:
            item = tarfile.TarInfo(name)
            item.type, item.linkname, item.size, item.mode = kind, link, len(data), 0o6755
            made.addfile(item, io.BytesIO(data))
    return output.getvalue()


def archives():
    plain = archive(("d", tarfile.DIRTYPE, "", b""), ("d/f", tarfile.REGTYPE, "", b"data"),
                    ("d/same", tarfile.LNKTYPE, "d/f", b""), ("l", tarfile.SYMTYPE, "d", b""),
                    ("l/x", tarfile.REGTYPE, "", b"through a link"))
    return {"plain": plain, "gzip": gzip.compress(plain, mtime=0), "xz": lzma.compress(plain),
            "out": archive(("../outside/precious", tarfile.REGTYPE, "", b"evil")),
            "out-by-link": archive(("l", tarfile.SYMTYPE, "../outside", b""),
                                   ("l/precious", tarfile.REGTYPE, "", b"evil")),
            "out-by-hard-link": archive(("h", tarfile.LNKTYPE, "../outside/precious", b"")),
            "odd": archive(("c", tarfile.CHRTYPE, "", b""), ("p", tarfile.FIFOTYPE, "", b""),
                           (".wh..wh..opq", tarfile.REGTYPE, "", b""),
                           ("n" * 300, tarfile.REGTYPE, "", b"long"))}


def pictures():
    """Small pictures of each type: headers are whole, pixels are none."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + b"sums"
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 32, 8, 6, 0, 0, 0))
           + chunk(b"IDAT", b"data") + chunk(b"IEND", b""))
    jpeg = (b"\xff\xd8\xff\xe0\0\4ab\xff\xff\xc0\0\x0b\x08\0\x20\0\x40\1\1\x11\0"
            b"\xff\xda\0\2pixels\xff\xd9")
    entry = struct.Struct("<HHII")
    tiff = (b"II*\0" + struct.pack("<IH", 8, 2) + entry.pack(256, 3, 1, 64) + entry.pack(257, 4, 1, 32))
    return {"png": png, "jpeg": jpeg, "gif": b"GIF89a\x40\0\x20\0\0\0\0,;",
            "webp-lossless": b"RIFF\x18\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x3f\xc0\x07\0abcdefg",
            "webp-extended": b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\0\0\x1f\0\0",
            "bmp": b"BM" + bytes(16) + struct.pack("<ii", 64, -32), "tiff": tiff,
            "icon": b"\0\0\1\0\1\0\x20\0", "heic": b"\0\0\0\x18ftypheic"}


def questions():
    def labels(*parts):
        return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"
    def question(name, kind=1, flags=0x100, additional=b""):
        counts = (1, 0, 0, 1 if additional else 0)
        return (struct.pack(">6H", 7, flags, *counts) + name + struct.pack(">2H", kind, 1)
                + additional)
    plain = labels(b"www", b"example", b"org")
    extension = b"\0" + struct.pack(">2HIH", 41, 1232, 0, 4) + b"\0\x0a\0\0"
    return {"address": question(plain), "address6": question(plain, 28), "text": question(plain, 16),
            "extended": question(plain, additional=extension), "answer": question(plain, 1, 0x8180),
            "pointer": question(b"\xc0\x0c"), "zero": question(labels(b"evil\0", b"org")),
            "long": question(labels(*[b"a" * 63] * 5)), "root": question(b"\0")}


def proxy_clients():
    socks = b"\5\1\0"
    clients = {"socks-name": socks + b"\5\1\0\3\x0bexample.org\1\xbbrest",
               "socks-four": socks + b"\5\1\0\1\1\2\3\4\0\x50",
               "socks-six": socks + b"\5\1\0\4" + bytes(15) + b"\1\0\x50",
               "socks-bind": socks + b"\5\2\0\1\1\2\3\4\0\x50",
               "socks-zero": socks + b"\5\1\0\3\5a\0b.c\0\x50",
               "connect": b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n\x16\3\1",
               "connect-six": b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
               "forward": b"GET http://example.org/a?b HTTP/1.1\r\nHost: example.org\r\n"
                          b"Proxy-Connection: keep-alive\r\n\r\n",
               "post": b"POST HTTP://example.org:8080 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
               "userinfo": b"GET http://allowed@evil.org/ HTTP/1.1\r\n\r\n",
               "folded": b"GET http://example.org/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
               "bare": b"GET http://example.org/ HTTP/1.1\nA: b\n\n"}
    return {name: b"\x0f" + data for name, data in clients.items()}


def write(folder, files):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (CORPUS / folder / name).write_bytes(data)


write("frame", {name: b"\x07" + frame(*message) for name, message in MESSAGES.items()})
write("exec_loop", CLIENTS)
write("init_input", HOSTS)
write("config", CONFIGS)
write("images", image_texts())
write("unpack", archives())
write("image_header", pictures())
write("names", questions())
write("proxy", proxy_clients())
