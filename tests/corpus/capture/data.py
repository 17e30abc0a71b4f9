"""Data that tools print: tables of databases, JSON and YAML documents. What is asked for was planted."""
import json
import os
import subprocess
import time
from pathlib import Path

from scenario import Case, Missing, record_fact, row_fact, unknown

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
PORT = 18432


class Database:
    """A PostgreSQL server of its own for as long as it is used, reached by a socket in its directory."""

    def __init__(self, project, options=""):
        if not PROGRAMS.exists():
            raise Missing("postgresql (Debian's package)")
        self.project, self.options = project, options
        self.place = project.directory.parent / (project.directory.name + "-home") / "database"

    def as_owner(self, command):
        return subprocess.run(["runuser", "-u", "postgres", "--", "sh", "-c", command], capture_output=True, check=True, cwd="/")

    def __enter__(self):
        self.place.mkdir(parents=True, exist_ok=True)
        for place in (self.place, self.place.parent, self.project.directory.parent):
            os.chmod(place, 0o755)
        subprocess.run(["chown", "postgres", self.place], check=True)
        self.as_owner(f"{PROGRAMS}/initdb -D {self.place}/data -A trust >/dev/null")
        self.as_owner(f"{PROGRAMS}/pg_ctl -w -D {self.place}/data -l {self.place}/log -o '-c listen_addresses= -k {self.place} -p {PORT} "
                      f"{self.options}' start >/dev/null")
        return self

    def __exit__(self, *_):
        self.as_owner(f"{PROGRAMS}/pg_ctl -w -D {self.place}/data -m fast stop >/dev/null")

    def psql(self, text, flags=""):
        return self.project.run(f"psql -h {self.place} -p {PORT} -U postgres{flags}", given=text.encode())

    def log(self):
        time.sleep(0.3)
        return (self.place / "log").read_text()


def rows(project, count, rare):
    """Rows that are alike, and RARE ones among them whose state says that something is wrong."""
    places = set(project.random.sample(range(count), rare))
    return [{"id": 1000 + index, "name": project.word(), "region": project.random.choice(["north", "south", "west"]),
             "state": "failed" if index in places else "ready", "size": project.random.randint(1, 9999)} for index in range(count)]


def marked(found):
    return [one for one in found if one["state"] == "failed"]


SIZES = {"ten": {"count": 10, "rare": 1}, "hundred": {"count": 100, "rare": 3}, "thousand": {"count": 1000, "rare": 5}}


def insert_text(found):
    return "create table items (id int, name text, region text, state text, size int);\n" + "".join(
        f"insert into items values ({one['id']}, '{one['name']}', '{one['region']}', '{one['state']}', {one['size']});\n" for one in found)


@unknown("psql", ["psql", "runuser"], {**SIZES, "expanded": {"count": 30, "rare": 2, "flags": " -x"}})
def psql(project, count, rare, flags=""):
    found = rows(project, count, rare)
    with Database(project) as database:
        database.psql(insert_text(found))
        ran = database.psql("select * from items;\n", flags)
    facts = [row_facts(one) for one in marked(found)] if not flags else [record_of_lines(one) for one in marked(found)]
    return Case("", f"psql{flags} shop", ran, facts + ([row_fact(f"{count} rows")] if not flags else []))


def row_facts(one):
    return row_fact(str(one["id"]), one["name"], one["state"], str(one["size"]))


def record_of_lines(one):
    return {"all": [one["name"], "failed", str(one["size"])]}


def register_sqlite(name, flags):
    @unknown(f"sqlite-{name}", ["sqlite3"], SIZES, quick=True)
    def capture(project, count, rare):
        found = rows(project, count, rare)
        project.run("sqlite3 shop.db", given=insert_text(found).encode())
        command = f"sqlite3 {flags} shop.db 'select * from items'"
        facts = [record_fact(**one) if name == "json" else row_facts(one) for one in marked(found)]
        return Case("", command, project.run(command), facts)
    return capture


for one, option in {"box": "-box", "json": "-json", "column": "-header -column", "csv": "-header -csv", "markdown": "-markdown"}.items():
    register_sqlite(one, option)


@unknown("jq", ["jq"], {**SIZES, "lines": {"count": 400, "rare": 4, "flags": " -c"}}, quick=True)
def jq(project, count, rare, flags=""):
    found = rows(project, count, rare)
    project.write("items.json", json.dumps({"items": found}))
    command = f"jq{flags} '.items[]' items.json" if flags else "jq .items items.json"
    ran = project.run(command)
    return Case("", command, ran, [record_fact(**one) for one in marked(found)])


CONTAINER = {"Id": "{hash}", "Created": "2026-03-04T10:00:00.000000000Z", "Path": "/entry.sh", "Args": ["serve"],
             "State": {"Status": "running", "Running": True, "OOMKilled": False, "Pid": 4242, "ExitCode": 0, "Error": ""},
             "Image": "sha256:{hash}", "Name": "/{name}", "RestartCount": 0, "Driver": "overlay2", "Platform": "linux",
             "HostConfig": {"NetworkMode": "bridge", "RestartPolicy": {"Name": "always", "MaximumRetryCount": 0}, "Memory": 536870912,
                            "CpuShares": 0, "Privileged": False, "ReadonlyRootfs": False, "CapAdd": None, "CapDrop": None},
             "Mounts": [{"Type": "volume", "Name": "{name}-data", "Destination": "/data", "RW": True}],
             "Config": {"Hostname": "{name}", "User": "", "Env": ["PATH=/usr/bin:/bin", "REGION=north"], "Image": "{name}:1.4",
                        "WorkingDir": "/srv", "Labels": {"team": "{name}"}}}


@unknown("docker-inspect", ["cat"], {"one": {"count": 1, "rare": 1}, "few": {"count": 6, "rare": 1}, "many": {"count": 40, "rare": 3}}, quick=True)
def docker_inspect(project, count, rare):
    """Documents of the engine's shape: what differs is a container that was killed."""
    places, found, facts = set(project.random.sample(range(count), rare)), [], []
    for index in range(count):
        name, digest = project.word().replace("_", "-"), "%064x" % project.random.getrandbits(256)
        one = json.loads(json.dumps(CONTAINER).replace("{name}", name).replace("{hash}", digest))
        if index in places:
            one["State"].update({"Status": "exited", "Running": False, "OOMKilled": True, "Pid": 0, "ExitCode": 137})
            one["RestartCount"] = project.random.randint(3, 40)
            facts.append(record_fact(Name=f"/{name}", RestartCount=one["RestartCount"], **{"State.Status": "exited", "State.ExitCode": 137}))
        found.append(one)
    project.write("inspect.json", json.dumps(found, indent=4) + "\n")
    return Case("", "docker inspect $(docker ps -aq)", project.run("cat inspect.json"), facts)


@unknown("npm-audit", ["cat"], {"few": {"count": 4}, "many": {"count": 40}}, quick=True)
def npm_audit(project, count):
    """A report of npm's shape: each advisory is a record, its totals stand at the end."""
    found, totals = {}, {"info": 0, "low": 0, "moderate": 0, "high": 0, "critical": 0}
    facts = []
    for index in range(count):
        name = project.word().replace("_", "-")
        severity = "critical" if index == count // 2 else project.random.choice(["low", "moderate", "moderate", "high"])
        totals[severity] += 1
        number, title = project.number(), f"{project.word(1).title()} exhaustion in {name}"
        found[name] = {"name": name, "severity": severity, "isDirect": index % 3 == 0, "via": [
            {"source": number, "name": name, "dependency": name, "title": title, "url": f"https://github.com/advisories/GHSA-{number}",
             "severity": severity, "cwe": ["CWE-400"], "cvss": {"score": 7.5, "vectorString": "CVSS:3.1/AV:N/AC:L"}, "range": f"<{index % 7 + 1}.2.3"}],
            "effects": [], "range": f"<{index % 7 + 1}.2.3", "nodes": [f"node_modules/{name}"], "fixAvailable": index % 4 != 0}
        if severity in ("critical", "high"):
            facts.append(record_fact(name=name, severity=severity, title=title))
    totals["total"] = count
    report = {"auditReportVersion": 2, "vulnerabilities": found, "metadata": {"vulnerabilities": totals, "dependencies": {"prod": 210, "dev": 300, "total": 510}}}
    project.write("audit.json", json.dumps(report, indent=2) + "\n")
    ran = project.run("cat audit.json; exit 1")
    return Case("", "npm audit --json", ran, [*facts, record_fact(critical=totals["critical"], high=totals["high"], total=count)])


@unknown("gh-json", ["cat"], {"thirty": {"count": 30}, "hundred": {"count": 100}}, quick=True)
def workflow_runs(project, count):
    """One line of JSON with many records, as `gh run list --json` prints without a terminal."""
    found, facts = [], []
    bad = set(project.random.sample(range(count), 3))
    for index in range(count):
        one = {"conclusion": "failure" if index in bad else "success", "createdAt": f"2026-03-{index % 28 + 1:02}T10:00:00Z",
               "databaseId": project.number(10 ** 9, 10 ** 10), "event": "push", "headBranch": project.word(), "status": "completed",
               "workflowName": project.random.choice(["build", "test", "release"])}
        found.append(one)
        if index in bad:
            facts.append(record_fact(**{key: one[key] for key in ("conclusion", "databaseId", "headBranch", "workflowName")}))
    project.write("runs.json", json.dumps(found) + "\n")
    return Case("", "gh run list --json conclusion,createdAt,databaseId,event,headBranch,status,workflowName", project.run("cat runs.json"), facts)


@unknown("yaml", ["cat"], {"few": {"count": 4}, "many": {"count": 40}}, quick=True)
def yaml_documents(project, count):
    """Documents of Kubernetes' shape, one of which differs: an image without a tag, a pod that waits."""
    text, facts = "apiVersion: v1\nitems:\n", []
    bad = project.random.randrange(count)
    for index in range(count):
        name = project.word().replace("_", "-")
        phase, reason = ("Pending", project.word().title().replace("_", "")) if index == bad else ("Running", "")
        text += (f"- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: {name}\n    namespace: shop\n    labels:\n      app: {name}\n  spec:\n"
                 f"    containers:\n    - name: main\n      image: registry.example/{name}:1.{index}\n      resources:\n        limits:\n"
                 f"          memory: 512Mi\n    restartPolicy: Always\n  status:\n    phase: {phase}\n    hostIP: 10.0.0.4\n    qosClass: Burstable\n")
        if reason:
            text += f"    reason: {reason}\n"
            facts.append({"under": [f"name: {name}"], "row": ["phase", "Pending"]})
            facts.append({"under": [f"name: {name}"], "row": ["reason", reason]})
        else:
            facts.append({"under": [f"name: {name}"], "row": ["image", f"registry.example/{name}:1.{index}"]})
    project.write("pods.yaml", text + "kind: List\nmetadata:\n  resourceVersion: \"\"\n")
    if count > 10:
        facts = [fact for fact in facts if fact["row"][0] != "image"]
    return Case("", "kubectl get pods -o yaml", project.run("cat pods.yaml"), facts)
