"""Generic output: logs, JSON, CSV, tables, progress. The programs that print it are made here."""
import json

from scenario import Case, row_fact, scenario, text_fact

SERVICE = """
import random, sys
random.seed({seed})
levels = ["INFO"] * 12 + ["DEBUG"] * 6
for n in range({count}):
    second = n // 7
    stamp = f"2026-03-04T10:{{second // 60 % 60:02}}:{{second % 60:02}}.{{n * 37 % 1000:03}}Z"
    if n in {planted}:
        print(stamp, {planted}[n])
    else:
        print(stamp, random.choice(levels), random.choice([
            f"handled request GET /items/{{random.randint(1, 5000)}} in {{random.randint(1, 90)}} ms",
            f"cache hit key=item:{{random.randint(1, 5000)}}", "heartbeat ok",
            f"worker {{random.randint(1, 8)}} finished batch of {{random.randint(10, 99)}}"]))
sys.exit({status})
"""


@scenario("log", ["python3"], quick=True, variants={
    "ten": {"count": 10, "bad": 1}, "hundred": {"count": 100, "bad": 3}, "thousand": {"count": 1000, "bad": 10},
    "clean-thousand": {"count": 1000, "bad": 0}, "five-thousand": {"count": 5000, "bad": 12},
    "failing-thousand": {"count": 1000, "bad": 5, "status": 3},
})
def log(project, count, bad, status=0):
    planted = {}
    for place in project.random.sample(range(count), bad):
        word, number = project.word(), project.number()
        planted[place] = project.random.choice([
            f"ERROR cannot reach {word}: connection refused ({number})",
            f"FATAL {word} panicked with code {number}",
            f"WARN {word} is slow: {number} ms", f"ERROR unhandled exception in {word} id={number}"])
    project.write("service.py", SERVICE.format(count=count, planted=planted, status=status,
                                               seed=project.number()))
    ran = project.run("python3 service.py")
    return Case("", "python3 service.py", ran, [text_fact(line) for line in planted.values()], is_plain_log=True)


@scenario("log", ["python3"], quick=True, variants={
    "progress-bar": {"kind": "progress"}, "identical-lines": {"kind": "same"}, "ansi": {"kind": "ansi"},
    "two-tools": {"kind": "two"}, "imitation": {"kind": "imitation"}, "not-utf8": {"kind": "bytes"},
})
def odd(project, kind):
    word, number = project.word(), project.number()
    body = {
        "progress": f"for n in range(0, 101):\n    sys.stdout.write(f'\\rfetching {word} {{n:3}}%')\nprint()\n"
                    f"print('fetched {number} bytes')\n",
        "same": f"for n in range(3000):\n    print('waiting for {word}')\nprint('gave up after {number}')\nsys.exit(1)\n",
        "ansi": "for n in range(80):\n    print(f'\\x1b[32mok\\x1b[0m step {n} \\x1b[1mdone\\x1b[0m')\n"
                f"print('\\x1b[31merror:\\x1b[0m {word} is {number}')\nsys.exit(2)\n",
        "two": "for n in range(40):\n    print(f'cc -c file{n}.c')\n"
               f"print('main.c:{number % 90 + 1}:7: error: {word} undeclared')\n"
               f"for n in range(40):\n    print(f'test_{{n}} ... ok')\nprint('test_{word} ... FAIL')\nsys.exit(1)\n",
        "imitation": "print('[exit 0]')\nprint('all tests passed')\nfor n in range(100):\n    print('row', n)\n"
                     f"print('error: {word} {number}')\nsys.exit(4)\n",
        "bytes": f"sys.stdout.buffer.write(b'caf\\xe9 \\xff\\xfe line\\n' * 50)\nprint('error: {word} {number}')\nsys.exit(5)\n",
    }[kind]
    project.write("program.py", "import sys\n" + body)
    facts = {
        "progress": [text_fact(f"fetched {number} bytes")], "same": [text_fact(f"gave up after {number}"),
                                                                     text_fact(f"waiting for {word}")],
        "ansi": [text_fact(f"error: {word} is {number}")],
        "two": [text_fact(f"main.c:{number % 90 + 1}:7", f"{word} undeclared"), text_fact(f"test_{word}", "FAIL")],
        "imitation": [text_fact(f"error: {word} {number}")], "bytes": [text_fact(f"error: {word} {number}")],
    }[kind]
    ran = project.run("python3 program.py")
    return Case("", "python3 program.py", ran, facts, is_plain_log=True)


def rows(project, count):
    return [{"id": project.number(1000, 999999), "name": project.word(), "owner": project.word(),
             "state": project.random.choice(["ready", "ready", "ready", "draft"]),
             "size": project.random.randint(1, 9999)} for _ in range(count)]


@scenario("json", ["python3"], quick=True, variants={
    "one": {"count": 1}, "ten": {"count": 10}, "hundred": {"count": 100}, "compact-hundred": {"count": 100, "indent": None},
    "nested": {"count": 12, "nested": True}, "lines": {"count": 60, "lines": True},
})
def json_output(project, count, indent=2, nested=False, lines=False):
    data = rows(project, count)
    if nested:
        data = {"page": {"number": 1, "items": [{**row, "tags": [project.word(), project.word()],
                                                 "links": {"self": f"/items/{row['id']}"}} for row in data]}}
    text = "\n".join(json.dumps(row) for row in data) if lines else json.dumps(data, indent=indent)
    project.write("data.json", text + "\n")
    ran = project.run("cat data.json")
    items = data["page"]["items"] if nested else data
    facts = [row_fact(str(row["id"]), row["name"], row["owner"], str(row["size"])) if lines else
             text_fact(str(row["id"]), row["name"], row["owner"], str(row["size"])) for row in items]
    if nested:
        facts += [text_fact(*row["tags"]) for row in items]
    return Case("", "cat data.json", ran, facts)


@scenario("csv", ["cat"], quick=True, variants={"ten": {"count": 10}, "hundred": {"count": 100}, "five-hundred": {"count": 500}})
def csv(project, count):
    data = rows(project, count)
    project.write("data.csv", "id,name,owner,state,size\n" + "".join(
        ",".join(str(value) for value in row.values()) + "\n" for row in data))
    ran = project.run("cat data.csv")
    return Case("", "cat data.csv", ran, [row_fact("id", "name", "owner", "state", "size")] +
                [row_fact(str(row["id"]), row["name"], row["owner"], str(row["size"])) for row in
                 (data if count <= 100 else data[:5] + data[-1:])])  # more than a budget holds


@scenario("table", ["column"], quick=True, variants={"ten": {"count": 10}, "hundred": {"count": 100}})
def table(project, count):
    data = rows(project, count)
    project.write("data.txt", "ID NAME OWNER STATE SIZE\n" + "".join(
        " ".join(str(value) for value in row.values()) + "\n" for row in data))
    ran = project.run("column -t data.txt")
    return Case("", "column -t data.txt", ran, [row_fact("ID", "NAME", "OWNER", "STATE", "SIZE")] +
                [row_fact(str(row["id"]), row["name"], row["owner"], row["state"], str(row["size"])) for row in data])
