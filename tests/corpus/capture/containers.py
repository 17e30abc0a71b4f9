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


@scenario("docker", ["docker"], variants={
    "ps-none": {"kind": "ps", "count": 0}, "ps": {"kind": "ps", "count": 7},
    "ps-all": {"kind": "ps", "count": 4, "flags": " -a"},
    "images": {"kind": "images", "count": 8}, "logs": {"kind": "logs", "count": 400},
    "build": {"kind": "build", "count": 6}, "build-fails": {"kind": "build", "count": 3, "bad": True},
    "no-container": {"kind": "none", "count": 0},
})
def docker(project, kind, count, flags="", bad=False):
    engine(project)
    names = [f"{project.word()}-{project.word(1)}" for _ in range(count if kind == "ps" else 1)]
    try:
        return {"ps": ps, "images": images, "logs": logs, "build": build, "none": none}[kind](
            project, names, count, flags, bad)
    finally:
        project.run("docker rm -f $(docker ps -aq) ; docker rmi -f $(docker images -q --filter label=corpus)")


def ps(project, names, count, flags, bad):
    for index, name in enumerate(names):
        rest = "sleep 600" if index % 3 or not flags else "sh -c 'exit 3'"
        project.run(f"docker run -d --network none --name {name} base:1 {rest}")
    ran = project.run(f"docker ps{flags}")
    facts = [{"row": [entry["Names"], entry["Status"].split(" ")[0]], "all": [entry["Image"]]}
             for entry in entries(project.run(f"docker ps{flags} --format '{{{{json .}}}}'"))]
    return Case("", f"docker ps{flags}", ran, facts)


def images(project, names, count, flags, bad):
    for index in range(count):
        project.run(f"echo 'FROM base:1\nLABEL corpus={index}' | DOCKER_BUILDKIT=0"
                    f" docker build -t {project.word()}:{index}.{index + 1} -")
    ran = project.run("docker images")
    facts = [{"row": [entry["Repository"], entry["Tag"]], "all": [entry["Size"]]}
             for entry in entries(project.run("docker images --format '{{json .}}'"))]
    return Case("", "docker images", ran, facts)


def logs(project, names, count, flags, bad):
    word, number = project.word(), project.number()
    script = f"for i in $(seq {count}); do echo request $i handled; done; echo ERROR {word} {number} >&2; seq 30"
    project.run(f"docker run --network none --name {names[0]} base:1 sh -c {shlex.quote(script)}")
    ran = project.run(f"docker logs {names[0]}")
    return Case("", f"docker logs {names[0]}", ran, [text_fact(f"ERROR {word} {number}")], is_plain_log=True)


def build(project, names, count, flags, bad):
    words = [project.word() for _ in range(count)]
    status = project.random.randint(3, 90)
    text = "FROM base:1\nLABEL corpus=1\n" + "".join(f"RUN echo {word}\n" for word in words)
    project.write("Dockerfile", text + (f"RUN sh -c 'echo broken; exit {status}'\n" if bad else ""))
    ran = project.run(f"DOCKER_BUILDKIT=0 docker build --network none -t {names[0]}:1 .")
    facts = [text_fact(f"returned a non-zero code: {status}") if bad else
             text_fact("Successfully tagged", f"{names[0]}:1")]
    return Case("", f"docker build -t {names[0]}:1 .", ran, facts)


def none(project, names, count, flags, bad):
    ran = project.run(f"docker logs {names[0]}")
    return Case("", f"docker logs {names[0]}", ran, [text_fact("No such container", names[0])])
