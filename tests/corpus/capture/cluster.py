"""A real cluster (KUBECONFIG) and pods in the states that a case asks for.

It must run already, with one node that can start pods and an image with a shell (NUTSHELL_CORPUS_IMAGE,
localhost/busybox:1). Several clients are used: kubectl/VERSION/kubectl below the tools directory. Pods get
the names a case wants, in a namespace that is deleted when the capture ends.
"""
import atexit
import json
import os
import tempfile
import time
from pathlib import Path

from scenario import Missing, Project, find_tool

IMAGE = os.environ.get("NUTSHELL_CORPUS_IMAGE", "localhost/busybox:1")
NEWEST, MIDDLE, OLDEST = "1.34", "1.30", "1.20"
CLIENTS = [f"kubectl/{version}/kubectl" for version in (NEWEST, MIDDLE, OLDEST)]
PATIENCE = 120  # seconds until every pod is in the state it was made for


def kubectl(project, version, words, given=None):
    directory = os.path.dirname(find_tool(f"kubectl/{version}/kubectl"))
    path = os.pathsep.join([directory, os.environ.get("PATH", "")])
    return project.run(f"kubectl {words}", {"PATH": path, "KUBECONFIG": os.environ.get("KUBECONFIG", "")}, given=given)


def objects(project, words):
    ran = kubectl(project, NEWEST, f"{words} -o json")
    if ran.exit_code:
        raise Missing(f"a cluster that answers ({ran.stderr.decode(errors='replace')[:80].strip()})")
    found = json.loads(ran.text)
    return found.get("items", [found])


# The pods ---------------------------------------------------------------------------------------

def container(script, **more):
    return {"name": "main", "image": IMAGE, "command": ["sh", "-c", script], **more}


def pod(name, main, **spec):
    """A pod whose containers are given; what it is to end in is the scenario's affair."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name.split("-")[0]}},
            "spec": {"containers": [main], "terminationGracePeriodSeconds": 1, **spec}}


STAY = "while :; do sleep 1; done"
STATES = {  # what is asked for, and the word that tells that it has come to be
    "running": (lambda: (container(STAY), {}), "Running"),
    "crash": (lambda: (container("echo starting; echo 'FATAL no database' >&2; exit 7"), {}), "CrashLoopBackOff"),
    "image": (lambda: ({**container(STAY), "image": "127.0.0.1:9/team/app:9"}, {}), "ImagePullBackOff"),
    "pending": (lambda: (container(STAY), {"nodeSelector": {"disk": "nvme"}}), "Unschedulable"),
    "done": (lambda: (container("echo done"), {"restartPolicy": "Never"}), "Completed"),
    "error": (lambda: (container("echo broken >&2; exit 3"), {"restartPolicy": "Never"}), "Error"),
    "memory": (lambda: (container("head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null",
                                  resources={"limits": {"memory": "16Mi"}}), {"restartPolicy": "Never"}), "OOMKilled"),
    "config": (lambda: (container(STAY, envFrom=[{"configMapRef": {"name": "settings"}}]), {}),
               "CreateContainerConfigError"),
    "init": (lambda: (container(STAY), {"initContainers": [{**container("exit 4"), "name": "migrate"}]}),
             "CrashLoopBackOff"),
}


def reasons(item):
    """Every word with which the API tells what holds a pod."""
    status = item["status"]
    yield status.get("phase", "")
    yield from (condition.get("reason", "") for condition in status.get("conditions", []))
    for one in status.get("containerStatuses", []) + status.get("initContainerStatuses", []):
        yield from (state.get("reason", "") for state in one.get("state", {}).values())


class World:
    """A namespace with pods in the wanted states, shared by the cases that ask for the same."""

    made = {}

    def __init__(self, project, states):
        self.project = Project(project.directory, project.random.getrandbits(64), project.is_stored)
        self.namespace = self.project.word().replace("_", "-")
        self.pods = {f"{self.project.word(1)}-{self.project.word(1)}-{number}": state
                     for number, state in enumerate(states)}
        objects(project, "get nodes")
        kubectl(project, NEWEST, f"create namespace {self.namespace}")
        atexit.register(self.remove)
        wait_for(lambda: not kubectl(project, NEWEST, f"get serviceaccount default -n {self.namespace}").exit_code)
        for name, state in self.pods.items():
            main, spec = STATES[state][0]()
            self.apply(project, pod(name, main, **spec))
        wait_for(lambda: self.is_settled(project))

    @classmethod
    def of(cls, project, states):
        key = tuple(states)
        if key not in cls.made:
            cls.made[key] = cls(project, states)
        return cls.made[key]

    def apply(self, project, item):
        ran = kubectl(project, NEWEST, f"apply -n {self.namespace} -f -", json.dumps(item).encode())
        if ran.exit_code:
            raise Missing(f"a cluster that takes pods ({ran.stderr.decode()[:120].strip()})")

    def is_settled(self, project):
        found = {item["metadata"]["name"]: set(reasons(item)) for item in self.items(project)}
        return all(STATES[state][1] in found.get(name, ()) for name, state in self.pods.items())

    def items(self, project):
        return objects(project, f"get pods -n {self.namespace}")

    def remove(self):
        with tempfile.TemporaryDirectory(prefix="nutshell-corpus-") as place:
            self.project.directory = Path(place) / "project"
            self.project.directory.mkdir()
            kubectl(self.project, NEWEST, f"delete namespace {self.namespace} --wait=false")


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Missing("a cluster whose pods come into the states asked for")
        time.sleep(1)


def steady(project, version, words, read):
    """Runs WORDS between two looks at the same objects: what changed meanwhile is run again."""
    for _ in range(20):
        before = read()
        ran = kubectl(project, version, words)
        if read() == before:
            return ran, before
        time.sleep(2)
    raise Missing("a cluster at rest")


def deployment(name, count, image=IMAGE):
    labels = {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": count, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{**container(STAY), "image": image}], "terminationGracePeriodSeconds": 1}}}}


def service(name, port):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": port}]}}


class Workloads(World):
    """Deployments, one of them with an image that is not there, and their services."""

    made = {}

    def __init__(self, project, states):
        super().__init__(project, [])
        self.deployments = {self.project.word(1): (count, self.project.number(1024, 9999)) for count in states}
        for number, (name, (count, port)) in enumerate(self.deployments.items()):
            self.apply(project, deployment(name, count, "127.0.0.1:9/team/app:9" if number == 0 else IMAGE))
            self.apply(project, service(name, port))
        good = sum(list(states)[1:])
        wait_for(lambda: sum(item["status"]["phase"] == "Running" for item in self.items(project)) == good)


class Talker(World):
    """One pod that prints many lines and an error among them."""

    made = {}

    def __init__(self, project, states):
        super().__init__(project, [])
        self.name, self.word, self.number = self.project.word(1), self.project.word(), self.project.number()
        count = states[0]
        script = (f"for i in $(seq {count}); do echo request $i handled; done;"
                  f" echo ERROR {self.word} {self.number} >&2; for i in $(seq 30); do echo tick $i; done")
        self.apply(project, pod(self.name, container(script), restartPolicy="Never"))
        wait_for(lambda: "Completed" in set(reasons(self.items(project)[0])))
