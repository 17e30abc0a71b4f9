"""Outputs of tools that do not exist: every name, message, layout, count and place is drawn anew.

No parser can know them, so they show what the mechanisms for any tool are worth: records, diagnostics, blocks, tables
and chains. A seed and a number give the same case again. The facts are what was planted.
"""
import json
import random
from pathlib import Path

from generate import GeneratedCase  # first: it knows where the scenarios lie
from scenario import Case, Project, Ran, at_fact, record_fact, row_fact, text_fact, under_fact

MOST_FACTS = 60


def count_of(project):
    """From a few to a few thousand, small ones as often as large ones."""
    return round(10 ** project.random.uniform(0.7, 3.3))


def some(project, items):
    return items if len(items) <= MOST_FACTS else [items[at] for at in sorted(project.random.sample(range(len(items)), MOST_FACTS))]


def message(project, words=4):
    return " ".join(project.word(1) for _ in range(words)) + " " + project.word()


def stamp(index):
    return f"2026-03-04T{10 + index // 3600 % 12}:{index // 60 % 60:02}:{index % 60:02}Z"


def events(project):
    """Events of a log, most of them of a few kinds, and the planted ones."""
    count = count_of(project)
    kinds = [(project.random.choice(["info", "debug"]), message(project), project.word(1), project.word(1)) for _ in range(project.random.randint(2, 6))]
    bad = set(project.random.sample(range(count), min(count, project.random.randint(1, 6))))
    for index in range(count):
        if index in bad:
            yield index, project.random.choice(["error", "error", "fatal"]), message(project), {project.word(1): project.number(), "ref": project.word()}, True
        else:
            level, text, key, other = project.random.choice(kinds)
            yield index, level, text, {key: project.random.randint(1, 5000), other + "_id": project.random.randint(1, 90)}, False


def json_log(project):
    names = project.random.choice([("time", "level", "msg"), ("ts", "severity", "message"), ("@timestamp", "log.level", "message")])
    numbers = project.random.random() < 0.3 and {"debug": 20, "info": 30, "error": 50, "fatal": 60}
    as_upper, lines, facts = project.random.random() < 0.3, [], []
    for index, level, text, fields, is_planted in events(project):
        shown = numbers[level] if numbers else level.upper() if as_upper else level
        lines.append(json.dumps({names[0]: stamp(index), names[1]: shown, names[2]: text, **fields}))
        if is_planted:
            facts.append(record_fact(**{"msg": text}, **fields) if names[2] == "msg" else record_fact(message=text, **fields))
    return "./" + project.word(), lines, facts, 0


def key_value_log(project):
    lines, facts = [], []
    for index, level, text, fields, is_planted in events(project):
        lines.append(f"time={stamp(index)} level={level} msg=\"{text}\" " + " ".join(f"{key}={value}" for key, value in fields.items()))
        if is_planted:
            facts.append(record_fact(msg=text, **fields))
    return "./" + project.word(), lines, facts, 0


def array(project):
    """A document with many like objects; a few have another state."""
    count, key = count_of(project), project.word(1)
    bad, found, facts = set(project.random.sample(range(count), min(count, 3))), [], []
    for index in range(count):
        one = {"id": project.number(10 ** 6, 10 ** 8), "name": project.word(), key: project.random.randint(1, 900),
               "status": project.random.choice(["failed", "error"]) if index in bad else "ok"}
        found.append(one)
        if index in bad:
            facts.append(record_fact(**one))
    text = json.dumps(found if project.random.random() < 0.5 else {"items": found, "total": count}, indent=project.random.choice([None, 1, 2, 4]))
    return f"{project.word(1)} list --json", text.split("\n"), facts, 0


def diagnostics(project):
    """Messages of an unknown language's checker: one line each, or below the name of their file."""
    files = [f"{project.word(1)}/{project.word()}.{project.random.choice(['zig', 'ex', 'kt', 'lua', 'nim', 'tf'])}" for _ in range(project.random.randint(1, 30))]
    codes = [(f"{project.word(1)[:2].upper()}{project.random.randint(100, 999)}", message(project)) for _ in range(project.random.randint(2, 20))]
    is_below, has_column = project.random.random() < 0.3, project.random.random() < 0.7
    found = sorted({(project.random.choice(files), project.random.randint(1, 900), project.random.randint(1, 80) if has_column else 0, *project.random.choice(codes))
                    for _ in range(min(400, count_of(project)))})
    lines, last = [], None
    for file, line, column, code, text in found:
        if is_below and file != last:
            lines += ([""] if last else []) + [file]
        last, place = file, f"{line}:{column}" if column else str(line)
        lines.append(f"  {place}  error  {text}  {code}" if is_below and column else f"{file}:{place}: {code} {text}")
    facts = [at_fact(file, line, column, text) for file, line, column, code, text in found]
    return f"{project.word(1)}-check .", [*lines, "", f"{len(found)} problems found"], [*some(project, facts), row_fact(f"{len(found)} problems")], 1


def runner(project):
    """A runner of tests, whose failures are blocks between lines of what passed or behind all of them."""
    count = count_of(project)
    bad = set(project.random.sample(range(count), min(count, project.random.randint(1, 12))))
    passed, failed = project.random.choice([("ok", "FAIL"), ("[PASS]", "[FAIL]"), ("✓", "✗"), ("  passed:", "  FAILED:")])
    is_at_end, lines, blocks, facts = project.random.random() < 0.5, [], [], []
    for index in range(count):
        name = project.word()
        if index not in bad:
            lines.append(f"{passed} {name}" + (f" ({project.random.randint(1, 90)} ms)" if index % 2 else ""))
            continue
        got, wanted, path = project.number(), project.number(), f"spec/{project.word()}.ext:{project.random.randint(2, 400)}"
        block = [f"{failed} {name}", f"    expected: {wanted}", f"         got: {got}", f"    at {path}", ""]
        lines += [f"{failed} {name}"] if is_at_end else block
        blocks += block if is_at_end else []
        facts += [under_fact([name], "expected", str(wanted)), under_fact([name], "got", str(got)), under_fact([name], path)]
    total = f"{count} tests, {len(bad)} failed"
    return f"{project.word(1)} test", [*lines, *([""] + ["Failures:", ""] + blocks if is_at_end else []), total], [*some(project, facts), row_fact(total)], 1


def table(project):
    """Columns below titles, one of whose rows is not as the others."""
    count, titles = min(800, count_of(project)), ["NAME", "STATE", project.word(1).upper(), "AGE"]
    bad, rows, facts = set(project.random.sample(range(count), min(count, 3))), [], []
    for index in range(count):
        row = [project.word(), project.random.choice(["Failed", "Lost", "Error"]) if index in bad else "Ready", str(project.random.randint(1, 99)), f"{index % 60}m"]
        rows.append(row)
        if index in bad:
            facts.append(row_fact(*row))
    widths = [max(len(row[at]) for row in [titles, *rows]) + 3 for at in range(4)]
    return f"{project.word(1)} ls", ["".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [titles, *rows]], facts, 0


def steps(project):
    """A deployment with a heading for each step, some of which fail with a reason below."""
    lines, facts = [], []
    for _ in range(min(200, count_of(project))):
        title = f"STEP [{project.word()}]"
        lines += [f"{title} {'*' * 40}"]
        for _ in range(project.random.randint(1, 6)):
            lines.append(f"ok: [{project.word(1)}]")
        if project.random.random() < 0.1 or not facts:
            host, reason, number = project.word(), message(project), project.number()
            lines += [f"fatal: [{host}]: FAILED! => {{\"msg\": \"{reason}\", \"rc\": {number}}}"]
            facts.append(under_fact([title], host, reason, str(number)))
        lines.append("")
    return f"{project.word(1)} apply", lines, some(project, facts), 2


def vertical(project):
    """Records with a line for each field, one of which is not as the others."""
    count, keys = count_of(project), [project.word(1) for _ in range(3)]
    bad, lines, facts = set(project.random.sample(range(count), min(count, 2))), [], []
    divider = project.random.choice([": ", " | "])
    for index in range(count):
        number, state = project.number(10 ** 6, 10 ** 8), project.random.choice(["Failed", "Lost"]) if index in bad else "idle"
        values = {"id": number, "state": state, **{key: project.random.randint(1, 50) for key in keys}}
        lines += [f"*************************** {index + 1}. row ***************************"]
        lines += [f"{key:>14}{divider}{value}" for key, value in values.items()]
        if index in bad:
            facts.append(text_fact(str(number), state))
    return f"{project.word(1)} show", lines, facts, 0


def connections(project):
    """Rows whose titles do not stand above their columns; one is in another state, one has a number far above all."""
    count, lines, facts = count_of(project), ["State Count Local-Address Peer-Address Process"], []
    odd, large = (project.random.randrange(count) for _ in range(2))
    for index in range(count):
        state, number, peer = "CLOSING" if index == odd else "ACTIVE", 900000 if index == large and count > 30 else index % 9, f"10.0.{index // 250}.{index % 250}:{project.number()}"
        lines.append(f"{state:<9} {number:<6} 10.0.0.5:{40000 + index} {peer} api,fd={index}")
        if index in (odd, large):
            facts.append(row_fact(state, str(number), peer))
    return f"{project.word(1)} -tan", lines, facts, 0


def threads(project):
    """A dump of threads, nearly all of which wait in the same place."""
    count, lines, facts, idle = count_of(project), [], [], message(project, 2)
    bad = set(project.random.sample(range(count), min(count, 2)))
    for index in range(count):
        name, place = project.word(), f"{project.word()}.ext:{project.random.randint(2, 400)}"
        head = f'"{name}" #{index + 9} prio=5 tid=0x{index * 4096 + 70000:x} nid={index + 100}'
        if index in bad:
            lines += [f"{head} blocked", "   State: BLOCKED", f"    at shop.{project.word()}({place})", f"    at shop.{project.word()}(main.ext:3)", ""]
            facts += [under_fact([f'"{name}"'], "BLOCKED"), under_fact([f'"{name}"'], place)]
        else:
            lines += [f"{head} idle", "   State: WAITING", f"    at pool.take({idle.split(' ')[0]}.ext:7)", ""]
    return f"{project.word(1)}stack 77", lines, facts, 0


KINDS = {one.__name__: one for one in (json_log, key_value_log, array, diagnostics, runner, table, steps, vertical, connections, threads)}


def chain(project):
    """Several of them in one command, the last of which decides the status."""
    made = [KINDS[project.random.choice(sorted(KINDS))](project) for _ in range(project.random.randint(2, 3))]
    commands, lines, facts, status = zip(*made)
    return "; ".join(commands), [line for part in lines for line in part], [fact for part in facts for fact in part], status[-1]


def case_of(family, function, seed, is_log=False):
    """The case that FUNCTION draws from SEED."""
    command, lines, facts, status = function(Project(Path("/nowhere"), seed, is_stored=False))
    printed = ("\n".join(lines) + "\n").encode()
    made = GeneratedCase(family, f"{function.__name__}#{seed}", Case("", command, Ran(status, printed, b""), facts, is_plain_log=is_log))
    made.is_known = False
    return made


def case(kind, seed):
    """The case of this KIND that SEED gives."""
    return case_of("synthetic", chain if kind == "chain" else KINDS[kind], seed, kind in ("json_log", "key_value_log"))


def cases(seed, count):
    chosen = random.Random(seed)
    for _ in range(count):
        yield case(chosen.choice([*sorted(KINDS), "chain"]), chosen.getrandbits(40))
