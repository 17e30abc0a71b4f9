"""Installs by npm, pip, uv, apt and cargo: the planted packages, and what each client lists after."""
import json
import os

from scenario import TOOLS, Case, Missing, row_fact, scenario, text_fact, with_versions

# Clients as this machine has them set up.
REGISTRY = {"HOME": os.environ.get("HOME", "/"), "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}


def online(ran):
    """A registry that cannot be reached gives no case."""
    if ran.exit_code and any(word in ran.stdout + ran.stderr for word in
                             (b"ENOTFOUND", b"ETIMEDOUT", b"Temporary failure", b"Could not resolve")):
        raise Missing("a package registry")
    return ran


@scenario("npm", ["npm"], variants={
    "install": {"kind": "install"}, "missing-package": {"kind": "missing"}, "list": {"kind": "list"},
    "list-all": {"kind": "list", "flags": " --all"}, "bad-json": {"kind": "json"},
    "script-fails": {"kind": "script"}, "no-script": {"kind": "none"},
    **{f"old-version-{kind}": {"kind": kind, "tools": "npm-8"} for kind in ("install", "missing", "script", "json")},
})
def npm(project, kind, flags=""):
    word, status = project.word(), project.random.randint(2, 90)
    package = {"name": "sample", "version": "1.0.0", "private": True,
               "scripts": {"build": f"echo {word} && exit {status}"}}
    wanted = {"install": {"chalk": "4.1.2", "semver": "7.6.3"}, "list": {"chalk": "4.1.2", "express": "4.19.2"},
              "missing": {f"{word}-{word}-none": "1.0.0"}}.get(kind)
    if wanted:
        package["dependencies"] = wanted
    project.write("package.json", json.dumps(package) if kind != "json" else '{"name": "sample",,}\n')
    command = {"list": "npm ls" + flags, "script": "npm run build", "none": f"npm run {word}"}.get(kind, "npm install")
    if kind == "list":
        online(project.run("npm install --no-audit --no-fund", environment=REGISTRY))
    ran = online(project.run(command, environment=REGISTRY))
    facts = {
        "missing": [text_fact("E404", f"{word}-{word}-none")], "json": [text_fact("EJSONPARSE", "package.json")],
        "script": [text_fact(word)], "none": [text_fact("Missing script", word)],
        "install": [text_fact("added")],
    }.get(kind, [])
    if kind == "list":
        lock = json.loads((project.directory / "package-lock.json").read_text())["packages"]
        names = {(path.rpartition("node_modules/")[2], entry["version"]) for path, entry in lock.items() if path}
        facts = [text_fact(f"{name}@{version}") for name, version in sorted(names)
                 if flags or name in wanted]
    return Case("", command, ran, facts)


@scenario("pip", ["python3"], variants={
    "install": {"kind": "install"}, "missing-package": {"kind": "missing"}, "list": {"kind": "list"},
    "satisfied": {"kind": "again"}, "conflict": {"kind": "conflict"}, "no-file": {"kind": "file"},
    **{f"old-version-{kind}": {"kind": kind, "version": "21.3.1"} for kind in ("install", "missing", "conflict")},
})
def pip(project, kind, version=""):
    word = project.word()
    project.run("python3 -m venv .venv", environment=REGISTRY)
    if version:
        online(project.run(f".venv/bin/pip install pip=={version}", environment=REGISTRY))
    tool = ".venv/bin/pip --disable-pip-version-check --no-cache-dir"
    words = {"install": "install six==1.16.0 click==8.1.7", "missing": f"install {word}{word}none", "list": "list",
             "again": "install six==1.16.0", "conflict": "install 'click==8.1.7' 'flask==1.0' 'click<7'",
             "file": f"install -r {word}.txt"}[kind]
    if kind in ("list", "again"):
        online(project.run(f"{tool} install six==1.16.0 click==8.1.7", environment=REGISTRY))
    ran = online(project.run(f"{tool} {words}", environment=REGISTRY))
    facts = {"install": [row_fact("Successfully installed", "click-8.1.7", "six-1.16.0")],
             "missing": [text_fact("No matching distribution found", f"{word}{word}none")],
             "list": [row_fact("six", "1.16.0"), row_fact("click", "8.1.7")],
             "again": [text_fact("already satisfied", "six==1.16.0")],
             "conflict": [text_fact(["ResolutionImpossible", "conflicting", "Cannot install"])],
             "file": [text_fact("Could not open requirements file", f"{word}.txt")]}[kind]
    return Case("", f"pip {words}", ran, facts)


@scenario("uv", ["uv/bin/uv"], variants={"install": {"kind": "install"}, "missing-package": {"kind": "missing"},
                                         "list": {"kind": "list"},
                                         "old-version-install": {"kind": "install", "version": "uv-0.4"},
                                         "old-version-missing": {"kind": "missing", "version": "uv-0.4"}})
def uv(project, kind, version="uv"):
    word, tool = project.word(1), str(TOOLS / version / "bin/uv")
    project.run(f"{tool} venv -q .venv", environment=REGISTRY)
    words = {"install": "pip install flask==3.0.3", "missing": f"pip install {word}{word}none", "list": "pip list"}[kind]
    if kind == "list":
        online(project.run(f"{tool} pip install flask==3.0.3", environment=REGISTRY))
    listed = json.loads(project.run(f"{tool} pip list --format json", environment=REGISTRY).text or "[]")
    ran = online(project.run(f"{tool} {words}", environment=REGISTRY))
    if kind == "install":
        listed = json.loads(project.run(f"{tool} pip list --format json", environment=REGISTRY).text)
    facts = [row_fact(entry["name"].lower(), entry["version"]) for entry in listed]
    if kind == "missing":
        facts = [text_fact("No solution found", f"{word}{word}none")]
    return Case("", f"uv {words}", ran, facts)


@scenario("apt", ["apt-get"], variants=with_versions({
    "install": {"kind": "install"}, "missing-package": {"kind": "missing"}, "already": {"kind": "already"},
    "simulate": {"kind": "simulate"}, "short-name": {"kind": "simulate", "tool": "apt"},
}, ["install", "missing-package", "already", "simulate", "short-name"]))
def apt(project, kind, tool="apt-get"):
    word = project.word()
    words = {"install": "-y --reinstall hostname", "missing": f"-y {word}", "already": "-y hostname",
             "simulate": "-s cowsay sl"}[kind]
    command = f"{tool} install {words}"
    if project.tools:
        online(project.run("apt-get update"))
    ran = online(project.run(command, environment={"DEBIAN_FRONTEND": "noninteractive"}))
    version = project.run("dpkg-query -W -f '${Version}' hostname").text
    facts = {"install": [text_fact("hostname", version), row_fact("1", "reinstalled")], "missing": [text_fact("Unable to locate package", word)],
             "already": [text_fact("hostname is already the newest version", version)],
             "simulate": [text_fact("cowsay"), text_fact("sl")]}[kind]
    return Case("", command, ran, facts)


@scenario("cargo-install", ["cargo"], variants=with_versions(
    {"dependencies": {"kind": "build"}, "missing-crate": {"kind": "missing"}}, ["dependencies", "missing-crate"],
    middle="debian-13", new="debian-sid"))
def cargo(project, kind):
    word = project.word()
    wanted = f'{word}-{word} = "1"\n'
    if kind == "build":
        wanted = 'itoa = "=1.0.11"\ncfg-if = "=1.0.0"\nbitflags = "=2.5.0"\n'
    project.write("Cargo.toml", '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' + wanted)
    project.write("src/lib.rs", "")
    ran = online(project.run("cargo build", environment=REGISTRY))
    facts = [text_fact("itoa v1.0.11"), text_fact("bitflags v2.5.0")] if kind == "build" else [
        text_fact("no matching package", f"{word}-{word}")]
    return Case("", "cargo build", ran, facts)


