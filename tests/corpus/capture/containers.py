"""docker ps, images, build and logs against a real engine: oracle is docker's own --format and inspect."""
import json
import shlex

from scenario import Case, Missing, scenario, text_fact


def engine(project):
    """The engine must run already (DOCKER_HOST); an image `base:1` with a shell is made from busybox."""
    if project.run("docker info").exit_code:
        raise Missing("a running docker engine (DOCKER_HOST)")
    if project.run("docker image inspect base:1").exit_code:
        made = project.run("mkdir -p root/bin && cp $(command -v busybox) root/bin/ &&"
                           " for a in sh echo sleep seq true false cat; do ln -sf busybox root/bin/$a; done &&"
                           " tar -C root -c . |"
                           " docker import -c 'ENV PATH=/bin' - base:1")
        if made.exit_code:
            raise Missing("busybox-static")


def entries(ran):
    return [json.loads(line) for line in ran.text.splitlines() if line.startswith("{")]


OLD = "docker-20.10"


@scenario("docker", ["docker"], variants={
    "ps-none": {"kind": "ps", "count": 0}, "ps": {"kind": "ps", "count": 7},
    "ps-all": {"kind": "ps", "count": 4, "flags": " -a"}, "ps-states": {"kind": "ps", "count": 8, "flags": " -a", "mixed": True},
    "ps-old-client": {"kind": "ps", "count": 8, "flags": " -a", "mixed": True, "tools": OLD},
    "images": {"kind": "images", "count": 8}, "images-old-client": {"kind": "images", "count": 5, "tools": OLD},
    "logs": {"kind": "logs", "count": 400}, "logs-old-client": {"kind": "logs", "count": 200, "tools": OLD},
    "build": {"kind": "build", "count": 6}, "build-fails": {"kind": "build", "count": 3, "bad": True},
    "build-kit": {"kind": "build", "count": 6, "kit": 1, "tools": OLD},
    "build-kit-fails": {"kind": "build", "count": 4, "bad": True, "kit": 1, "tools": OLD},
    "build-kit-cached": {"kind": "build", "count": 6, "kit": 2, "tools": OLD},
    "no-container": {"kind": "none", "count": 0}, "no-dockerfile": {"kind": "no_file", "count": 0},
    "no-image": {"kind": "no_image", "count": 0}, "no-image-old-client": {"kind": "no_image", "count": 0, "tools": OLD},
    "no-engine": {"kind": "no_engine", "count": 0}, "no-engine-old-client": {"kind": "no_engine", "count": 0, "tools": OLD},
})
def docker(project, kind, count, flags="", **how):
    engine(project)
    names = [f"{project.word()}-{project.word(1)}" for _ in range(count if kind == "ps" else 1)]
    try:
        return {"ps": ps, "images": images, "logs": logs, "build": build}.get(kind, trouble)(
            project, names, count, flags, {"kind": kind, **how})
    finally:
        project.run("docker unpause $(docker ps -q) ; docker rm -f $(docker ps -aq) ;"
                    " docker rmi -f $(docker images -q --filter label=corpus)")


def steady(project, command):
    """Runs COMMAND between two equal reports: the seconds in a status go on meanwhile."""
    for _ in range(20):
        before = entries(project.run(f"{command} --format '{{{{json .}}}}'"))
        ran = project.run(command)
        if entries(project.run(f"{command} --format '{{{{json .}}}}'")) == before:
            return ran, before
    raise Missing("an engine at rest")


STATES = ["sleep 600", "sh -c 'exit 3'", "PAUSE", "CREATE", "sleep 600", "true", "RESTART", "sh -c 'exit 137'"]


def ps(project, names, count, flags, how):
    for index, name in enumerate(names):
        state = STATES[index % len(STATES)] if how.get("mixed") else (
            "sleep 600" if index % 3 or not flags else "sh -c 'exit 3'")
        start = f"docker run -d --name {name} --network none base:1"
        project.run({"CREATE": f"docker create --name {name} --network none base:1 sleep 600",
                     "PAUSE": f"{start} sleep 600 && docker pause {name}",
                     "RESTART": f"docker run -d --restart always --name {name} --network none base:1 false",
                     }.get(state, f"{start} {state}"))
    ran, listed = steady(project, f"docker ps{flags}")
    facts = [{"cells": {"NAMES": entry["Names"], "IMAGE": entry["Image"], "STATUS": entry["Status"]}} for entry in listed]
    return Case("", f"docker ps{flags}", ran, facts)


def images(project, names, count, flags, how):
    for index in range(count):
        project.run(f"echo 'FROM base:1\nLABEL corpus={index}' | DOCKER_BUILDKIT=0"
                    f" docker build -t {project.word()}:{index}.{index + 1} -")
    ran, listed = steady(project, "docker images")
    facts = [{"cells": {"REPOSITORY": entry["Repository"], "TAG": entry["Tag"], "IMAGE ID": entry["ID"],
                        "SIZE": entry["Size"]}} for entry in listed]
    return Case("", "docker images", ran, facts)


def logs(project, names, count, flags, how):
    word, number = project.word(), project.number()
    script = f"for i in $(seq {count}); do echo request $i handled; done; echo ERROR {word} {number} >&2; seq 30"
    project.run(f"docker run --network none --name {names[0]} base:1 sh -c {shlex.quote(script)}")
    ran = project.run(f"docker logs {names[0]}")
    return Case("", f"docker logs {names[0]}", ran, [text_fact(f"ERROR {word} {number}")], is_plain_log=True)


def build(project, names, count, flags, how):
    """`kit`: by BuildKit, the second time everything from its cache."""
    words = [project.word() for _ in range(count)]
    status, kit = project.random.randint(3, 90), how.get("kit", 0)
    text = "FROM base:1\nLABEL corpus=1\n" + "".join(f"RUN echo {word}\n" for word in words)
    project.write("Dockerfile", text + (f"RUN sh -c 'echo broken {words[0]}; exit {status}'\n" if how.get("bad") else ""))
    command = f"DOCKER_BUILDKIT={1 if kit else 0} docker build --network none -t {names[0]}:1 ."
    for _ in range(max(kit, 1)):
        ran = project.run(command)
    if how.get("bad"):
        said = [f"exit code: {status}", f"broken {words[0]}"] if kit else [f"returned a non-zero code: {status}"]
        facts = [text_fact(one) for one in said]
    else:
        facts = [text_fact("naming to" if kit else "Successfully tagged", f"{names[0]}:1")]
    if kit:
        facts += [text_fact(f"RUN echo {word}") for word in words]
    return Case("", f"docker build -t {names[0]}:1 .", ran, facts)


def trouble(project, names, count, flags, how):
    name, word = names[0], project.word()
    command, environment, fact = {
        "none": (f"docker logs {name}", {}, text_fact("No such container", name)),
        "no_file": ("DOCKER_BUILDKIT=0 docker build .", {}, text_fact("Dockerfile", ["no such file", "does not exist"])),
        "no_image": (f"docker run --pull never {word}:7", {}, text_fact("No such image", f"{word}:7")),
        "no_engine": ("docker ps", {"DOCKER_HOST": "unix:///run/none.sock"}, text_fact("/run/none.sock", "Cannot connect")),
    }[how["kind"]]
    ran = project.run(command, environment)
    return Case("", command.replace("DOCKER_BUILDKIT=0 ", ""), ran, [fact])
