"""kubectl get, describe and logs against a real cluster: oracle is the API's own objects (-o json)."""
import re

from cluster import (CLIENTS, MIDDLE, NEWEST, OLDEST, Talker, Workloads, World, kubectl, objects, steady)
from scenario import Case, scenario, text_fact

UNSET = "<none>"


# get --------------------------------------------------------------------------------------------

def pod_cells(item):
    """The line of `kubectl get pods` for a pod, computed from the object alone."""
    status, main = item["status"], item["status"].get("containerStatuses", [])
    ready = sum(one["ready"] for one in main)
    cells = {"NAME": item["metadata"]["name"], "READY": f"{ready}/{len(item['spec']['containers'])}",
             "STATUS": status.get("reason") or status["phase"]}
    for one in main:
        cells["STATUS"] = held_by(one) or cells["STATUS"]
    for one in status.get("initContainerStatuses", []):
        if one["state"].get("terminated", {}).get("exitCode") != 0:
            reason = held_by(one)
            cells["STATUS"] = f"Init:{reason}" if reason else f"Init:0/{len(item['spec']['initContainers'])}"
    return cells


def held_by(one):
    """Why a container does not run, in the API's words."""
    return next((one["state"][state].get("reason") for state in ("waiting", "terminated") if state in one["state"]), None)


def restarts(item):
    status = item["status"]
    return sum(one["restartCount"] for one in status.get("containerStatuses", []) +
               (status.get("initContainerStatuses", []) if "Running" != status["phase"] else []))


ALL_STATES = ["running", "crash", "image", "pending", "done", "error", "memory", "config", "init"]
FEW = ["running"] * 3


@scenario("kubectl-get", CLIENTS, variants={
    "pods": {"states": FEW + ["running"] * 3}, "pods-old-version": {"states": FEW, "version": OLDEST},
    "trouble": {"states": ALL_STATES}, "trouble-old-version": {"states": ALL_STATES, "version": OLDEST},
    "trouble-middle-version": {"states": ALL_STATES, "version": MIDDLE},
    "wide": {"states": ALL_STATES, "flags": " -o wide"},
    "forty-pending": {"states": ["running", "crash"] + ["pending"] * 38},
    "labels": {"states": ALL_STATES, "flags": " --show-labels"},
})
def get_pods(project, states, version=NEWEST, flags=""):
    world = World.of(project, states)
    words = f"get pods -n {world.namespace}{flags}"
    ran, cells = steady(project, version, words,
                        lambda: [{**pod_cells(item), "restarts": restarts(item),
                                  "labels": item["metadata"].get("labels", {}),
                                  "IP": item["status"].get("podIP", UNSET)} for item in world.items(project)])
    facts = []
    for row in cells:
        count, labels, address = row.pop("restarts"), row.pop("labels"), row.pop("IP")
        row["RESTARTS"] = {"first": str(count)}  # behind it may stand when: `4 (10s ago)`
        if "wide" in flags:
            row["IP"] = address
        if "labels" in flags:
            row["LABELS"] = ",".join(f"{key}={value}" for key, value in labels.items())
        facts.append({"cells": row})
    return Case("", f"kubectl {words}", ran, facts)


def deployment_cells(item):
    status, wanted = item["status"], item["spec"]["replicas"]
    return {"NAME": item["metadata"]["name"], "READY": f"{status.get('readyReplicas', 0)}/{wanted}",
            "UP-TO-DATE": str(status.get("updatedReplicas", 0)), "AVAILABLE": str(status.get("availableReplicas", 0))}


def service_cells(item):
    port = item["spec"]["ports"][0]
    return {"NAME": item["metadata"]["name"], "TYPE": item["spec"]["type"], "CLUSTER-IP": item["spec"]["clusterIP"],
            "EXTERNAL-IP": UNSET, "PORT(S)": f"{port['port']}/{port['protocol']}"}


def node_cells(item):
    ready = next(one["status"] for one in item["status"]["conditions"] if one["type"] == "Ready")
    return {"NAME": item["metadata"]["name"], "STATUS": "Ready" if ready == "True" else "NotReady",
            "VERSION": item["status"]["nodeInfo"]["kubeletVersion"]}


def named(cells, kind):
    return {**cells, "NAME": f"{kind}/{cells['NAME']}"}


KINDS = {"deployments": deployment_cells, "services": service_cells, "pods": pod_cells}


@scenario("kubectl-get", CLIENTS, variants={
    "deployments": {"kind": "deployments"}, "services": {"kind": "services", "version": MIDDLE},
    "nodes": {"kind": "nodes"}, "everything": {"kind": "all"},
    "everything-old-version": {"kind": "all", "version": OLDEST},
    "events": {"kind": "events"}, "events-old-version": {"kind": "events", "version": OLDEST},
})
def get_others(project, kind, version=NEWEST):
    world = Workloads.of(project, (2, 3, 1))
    words = f"get {kind}" + (f" -n {world.namespace}" if kind != "nodes" else "")

    def read():
        if kind == "nodes":
            return [{"cells": node_cells(item)} for item in objects(project, "get nodes")]
        if kind == "events":
            return [{"row": [item["involvedObject"]["name"], item["reason"], first_line(item["message"])]}
                    for item in objects(project, words)]
        if kind == "all":
            return [{"cells": named(KINDS[f"{item}s"](one), word)} for item, word in
                    (("pod", "pod"), ("service", "service"), ("deployment", "deployment.apps"))
                    for one in objects(project, f"get {item}s -n {world.namespace}")]
        return [{"cells": KINDS[kind](item)} for item in objects(project, words)]

    ran, facts = steady(project, version, words, read)
    return Case("", f"kubectl {words}", ran, facts)


def first_line(text):
    return re.sub(r"\s+", " ", text.split("\n")[0]).strip()


# Failures --------------------------------------------------------------------------------------

@scenario("kubectl-get", CLIENTS, variants={
    "not-found": {"kind": "missing"}, "not-found-old-version": {"kind": "missing", "version": OLDEST},
    "nothing": {"kind": "empty"}, "forbidden": {"kind": "forbidden"},
    "forbidden-old-version": {"kind": "forbidden", "version": OLDEST},
    "no-server": {"kind": "unreachable"}, "no-server-old-version": {"kind": "unreachable", "version": OLDEST},
    "unknown-kind": {"kind": "unknown"}, "bad-flag": {"kind": "flag"},
})
def get_trouble(project, kind, version=NEWEST):
    world = World.of(project, FEW)
    name = project.word(1)
    account = f"system:serviceaccount:{world.namespace}:default"
    words, facts = {
        "missing": (f"get pod {name} -n {world.namespace}", [text_fact("NotFound", name)]),
        "empty": (f"get jobs -n {world.namespace}", [text_fact("No resources found", world.namespace)]),
        "forbidden": (f"get pods -n kube-system --as {account}", [text_fact("Forbidden", account, "kube-system")]),
        "unreachable": ("get pods --server https://127.0.0.1:9", [text_fact("127.0.0.1:9", "refused")]),
        "unknown": (f"get {name}", [text_fact("resource type", name)]),
        "flag": (f"get pods --{name}", [text_fact("unknown flag", f"--{name}")]),
    }[kind]
    ran = kubectl(project, version, words)
    return Case("", f"kubectl {words}", ran, facts)


# describe ---------------------------------------------------------------------------------------

def state_facts(one):
    """The state of a container, and the one before it."""
    yield {"row": ["Restart Count:", str(one["restartCount"])]}
    for when in ("state", "lastState"):
        for word, state in one.get(when, {}).items():
            yield {"row": ["State:", word.capitalize()]}
            if state.get("reason"):
                yield {"row": ["Reason:", state["reason"]]}
            if "exitCode" in state:
                yield {"row": ["Exit Code:", str(state["exitCode"])]}


def event_facts(project, world, name):
    for event in objects(project, f"get events -n {world.namespace} --field-selector involvedObject.name={name}"):
        yield {"row": [event["type"], event["reason"], first_line(event["message"])]}


def pod_facts(project, world, name):
    item = objects(project, f"get pod {name} -n {world.namespace}")[0]
    status = item["status"]
    facts = [{"row": ["Name:", name]}, {"row": ["Namespace:", world.namespace]},
             {"row": ["Status:", status["phase"]]}, {"row": ["Labels:", f"app={name.split('-')[0]}"]}]
    if item["spec"].get("nodeName"):
        facts.append({"row": ["Node:", item["spec"]["nodeName"]]})
    if status.get("podIP"):
        facts.append({"row": ["IP:", status["podIP"]]})
    for one in item["spec"]["containers"] + item["spec"].get("initContainers", []):
        facts.append({"row": ["Image:", one["image"]]})
        facts.append({"all": one["command"][:2]})
        facts += [{"row": [key, value]} for key, value in one["resources"].get("limits", {}).items()]
    facts += [{"row": [key + "=" + value]} for key, value in item["spec"].get("nodeSelector", {}).items()]
    facts += [{"row": [[f"{one['type']} {one['status']}", f"{one['type']}|{one['status']}"]]} for one in status.get("conditions", [])]
    for one in status.get("containerStatuses", []) + status.get("initContainerStatuses", []):
        facts += state_facts(one)
    return facts + list(event_facts(project, world, name))


@scenario("kubectl-describe", CLIENTS, variants={
    state: {"state": state} for state in ALL_STATES} | {
    f"{state}-old-version": {"state": state, "version": OLDEST} for state in ("running", "crash", "pending")} | {
    "image-middle-version": {"state": "image", "version": MIDDLE}})
def describe_pod(project, state, version=NEWEST):
    world = World.of(project, ALL_STATES)
    name = next(name for name, made in world.pods.items() if made == state)
    words = f"describe pod {name} -n {world.namespace}"
    ran, facts = steady(project, version, words, lambda: pod_facts(project, world, name))
    return Case("", f"kubectl {words}", ran, facts)


def deployment_facts(project, world, name):
    item = objects(project, f"get deployment {name} -n {world.namespace}")[0]
    status = item["status"]
    facts = [{"row": ["Name:", name]}, {"row": ["Replicas:", f"{item['spec']['replicas']} desired",
                                               f"{status.get('unavailableReplicas', 0)} unavailable"]},
             {"row": ["Image:", item["spec"]["template"]["spec"]["containers"][0]["image"]]}]
    facts += [{"row": [one["type"], one["status"], one["reason"]]} for one in status["conditions"]]
    return facts + list(event_facts(project, world, name))


def node_facts(project):
    item = objects(project, "get nodes")[0]
    name = item["metadata"]["name"]
    facts = [{"row": ["Name:", name]}, {"row": ["Kubelet Version:", item["status"]["nodeInfo"]["kubeletVersion"]]}]
    facts += [{"row": [one["type"], one["status"], one["reason"]]} for one in item["status"]["conditions"]]
    facts += [{"row": [f"{key}:", value]} for key, value in item["status"]["allocatable"].items()]
    return facts


@scenario("kubectl-describe", CLIENTS, variants={
    "deployment": {"kind": "good"}, "deployment-unavailable": {"kind": "bad"},
    "deployment-old-version": {"kind": "bad", "version": OLDEST},
    "node": {"kind": "node"}, "missing": {"kind": "missing"},
})
def describe_others(project, kind, version=NEWEST):
    world = Workloads.of(project, (2, 3, 1))
    names = list(world.deployments)
    name = names[0] if kind == "bad" else names[1]
    if kind == "node":
        node = objects(project, "get nodes")[0]["metadata"]["name"]
        words, read = f"describe node {node}", lambda: node_facts(project)
    elif kind == "missing":
        name = project.word(1)
        words, read = (f"describe pod {name} -n {world.namespace}", lambda: [text_fact("NotFound", name)])
    else:
        words = f"describe deployment {name} -n {world.namespace}"
        read = lambda: deployment_facts(project, world, name)  # noqa: E731
    ran, facts = steady(project, version, words, read)
    return Case("", f"kubectl {words}", ran, facts)


# logs -------------------------------------------------------------------------------------------

@scenario("kubectl-logs", CLIENTS, variants={
    "four-hundred": {"kind": "lines"}, "old-version": {"kind": "lines", "version": OLDEST},
    "timestamps": {"kind": "lines", "flags": " --timestamps"},
    "crashed": {"kind": "crashed"}, "previous": {"kind": "previous"}, "waiting": {"kind": "waiting"},
    "waiting-old-version": {"kind": "waiting", "version": OLDEST}, "missing": {"kind": "missing"},
    "no-such-container": {"kind": "container"},
})
def logs(project, kind, version=NEWEST, flags=""):
    if kind == "lines":
        talker = Talker.of(project, (400,))
        words = f"logs {talker.name} -n {talker.namespace}{flags}"
        return Case("", f"kubectl {words}", kubectl(project, version, words),
                    [text_fact(f"ERROR {talker.word} {talker.number}")], is_plain_log=True)
    world = World.of(project, ALL_STATES)
    by_state = {state: name for name, state in world.pods.items()}
    missing = project.word(1)
    name, more, facts = {
        "crashed": (by_state["crash"], "", [text_fact("FATAL no database")]),
        "previous": (by_state["running"], " --previous", [text_fact("previous terminated container", "not found")]),
        "waiting": (by_state["image"], "", [text_fact("BadRequest", "waiting to start")]),
        "missing": (missing, "", [text_fact("NotFound", missing)]),
        "container": (by_state["running"], f" -c {missing}", [text_fact(f"container {missing} is not valid")]),
    }[kind]
    words = f"logs {name} -n {world.namespace}{more}"
    ran = kubectl(project, version, words)
    return Case("", f"kubectl {words}", ran, facts)
