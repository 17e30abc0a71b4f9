"""Makes images, correct and hostile ones: layers, OCI layouts, `docker save` archives."""
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile

OCI = "application/vnd.oci.image."
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


def entry(name, data=b"", kind=tarfile.REGTYPE, link="", mode=0o755):
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname, made.mode = len(data), kind, link, mode
    return made, data


def directory(name):
    return entry(name, kind=tarfile.DIRTYPE)


def symlink(name, target):
    return entry(name, kind=tarfile.SYMTYPE, link=target)


def hard_link(name, target):
    return entry(name, kind=tarfile.LNKTYPE, link=target)


def layer(*entries):
    """A tar archive's bytes."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for made, data in entries:
            archive.addfile(made, io.BytesIO(data))
    return output.getvalue()


def libraries_of(program):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listing)


def shell_entries():
    """Entries for a root file system with sh, cat, ls and env."""
    entries, seen = [], set()
    for name in ("sh", "cat", "ls", "env"):
        program = shutil.which(name, path="/usr/bin:/bin")
        for source, target in [(program, "bin/" + name)] + [(one, one.lstrip("/"))
                                                            for one in libraries_of(program)]:
            if target not in seen:
                seen.add(target)
                with open(os.path.realpath(source), "rb") as file:
                    entries.append(entry(target, file.read()))
    return entries + [directory("etc"), directory("tmp")]


class Image:
    """Layers and a configuration; tests may spoil the parts before they are written."""

    def __init__(self, *layers, environment=(), architecture=MACHINE):
        self.layers = list(layers)
        self.diff_ids = ["sha256:" + digest_of(one) for one in layers]
        self.settings = {"architecture": architecture, "os": "linux",
                         "config": {"Env": list(environment), "Entrypoint": ["/no/such"],
                                    "User": "root", "WorkingDir": "/nowhere"}}

    def config(self):
        return json.dumps({**self.settings, "rootfs": {"type": "layers",
                                                       "diff_ids": self.diff_ids}}).encode()

    def saved_files(self, name="app:1"):
        config = self.config()
        files = {f"{digest_of(config)}.json": config}
        paths = []
        for number, one in enumerate(self.layers):
            paths.append(f"layer{number}/layer.tar")
            files[paths[-1]] = one
        files["manifest.json"] = json.dumps(
            [{"Config": f"{digest_of(config)}.json", "RepoTags": [name], "Layers": paths}]).encode()
        return files

    def oci_files(self, name="app:1", packed=True):
        blobs = {}

        def add(data, kind, **more):
            blobs[f"blobs/sha256/{digest_of(data)}"] = data
            return {"mediaType": OCI + kind, "digest": "sha256:" + digest_of(data),
                    "size": len(data), **more}
        kind = "layer.v1.tar+gzip" if packed else "layer.v1.tar"
        layers = [add(gzip.compress(one, 1, mtime=0) if packed else one, kind)
                  for one in self.layers]
        manifest = {"schemaVersion": 2, "config": add(self.config(), "config.v1+json"),
                    "layers": layers}
        listed = add(json.dumps(manifest).encode(), "manifest.v1+json",
                     platform={"os": "linux", "architecture": MACHINE},
                     annotations={"org.opencontainers.image.ref.name": name})
        return {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
                "index.json": json.dumps({"schemaVersion": 2, "manifests": [listed]}).encode(),
                **blobs}


def write_directory(path, files):
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def write_archive(path, files):
    path.write_bytes(layer(*(entry(name, data, mode=0o644) for name, data in files.items())))
    return path
