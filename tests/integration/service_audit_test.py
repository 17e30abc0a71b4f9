#!/usr/bin/env python3
"""The record through the real program: written here by its documentation, not by the product, and
then shown, proved, exported, and tampered with in every way that verify has to find."""
import hashlib
import json
import sys

from support import Suite, call, expect, expect_equal, scratch

suite = Suite()
SANDBOX = "n3f9c0a11b2d4"
ZEROS = "0" * 64


def line_of(number, previous, **members):
    body = json.dumps({"id": number, "prev": previous, "time_us": 1_700_000_000_000_000 + number,
                       "tenant": "t", "who": "uid 1000", **members}, separators=(",", ":"))[:-1]
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body},"hash":"{digest}"}}', digest


def commands(count):
    """Two records for each command: its beginning, and its end."""
    for number in range(1, 2 * count, 2):
        common = {"action": "exec", "sandbox": SANDBOX}
        yield {**common, "outcome": "begun", "arguments": {"argv": ["echo", str(number)]}}
        yield {**common, "outcome": "exited 0", "of": number, "duration_us": 1500}


def write(place, entries):
    lines, previous = [], ZEROS
    for number, entry in enumerate(entries, 1):
        line, previous = line_of(number, previous, **entry)
        lines.append(line)
    put(place, lines, previous)
    return lines


def put(place, lines, last_hash=None):
    place.mkdir(mode=0o700, exist_ok=True)
    (place / f"{1:020}.jsonl").write_text("".join(line + "\n" for line in lines))
    if last_hash:
        (place / "head").write_text(f'{{"id":{len(lines)},"hash":"{last_hash}"}}\n')


def verify(place, *more):
    ended = call("audit", "verify", "--directory", str(place), *more)
    return ended.status, ended.stdout.decode()


@suite.case
def intact_record_is_proved():
    with scratch() as place:
        write(place / "audit", commands(50))
        status, text = verify(place / "audit")
        expect_equal(status, 0, text)
        expect("intact: 100 records, 1 to 100" in text, text)
        mark = text.split()[-1]
        expect_equal(verify(place / "audit", "--expect", mark)[0], 0, "the mark it printed")


@suite.case
def proof_and_flaw_are_one_json_object():
    with scratch() as place:
        lines = write(place / "audit", commands(20))
        status, text = verify(place / "audit", "--json")
        told = json.loads(text)
        (chain,) = told["chains"]
        expect_equal((status, told["intact"], chain["intact"], chain["records"], chain["first_id"], chain["is_torn"]),
                     (0, True, True, 40, 1, False), f"an intact record: {text}")
        expect_equal(verify(place / "audit", "--json", "--expect", chain["mark"])[0], 0, "the mark it printed")
        lines[9] = lines[9].replace("exited 0", "exited 1")
        put(place / "audit", lines)
        status, text = verify(place / "audit", "--json")
        told = json.loads(text)
        expect_equal((status, told["intact"]), (1, False), f"a record that was changed: {text}")
        expect("10" in told["chains"][0]["problem"] and "mark" not in told["chains"][0], f"where: {text}")


@suite.case
def every_tampering_is_found_where_it_is():
    def changed(lines):
        lines[9] = lines[9].replace("exited 0", "exited 1")

    def missing(lines):
        del lines[9]

    def swapped(lines):
        lines[9], lines[10] = lines[10], lines[9]

    def garbled(lines):
        lines[9] = "x" * len(lines[9])

    def cut(lines):
        del lines[9:]

    for tamper in (changed, missing, swapped, garbled, cut):
        with scratch() as place:
            lines = write(place / "audit", commands(20))
            tamper(lines)
            put(place / "audit", lines)
            status, text = verify(place / "audit")
            expect_equal(status, 1, f"{tamper.__name__}: {text}")
            expect("10" in text.splitlines()[0], f"{tamper.__name__}: {text}")


@suite.case
def forged_head_is_found_by_a_mark_kept_elsewhere():
    with scratch() as place:
        lines = write(place / "audit", commands(20))
        mark = verify(place / "audit")[1].split()[-1]
        lines = lines[:30]
        put(place / "audit", lines, json.loads(lines[-1])["hash"])
        expect_equal(verify(place / "audit")[0], 0, "nothing in the files can tell")
        status, text = verify(place / "audit", "--expect", mark)
        expect_equal(status, 1, text)
        expect("31" in text, text)


@suite.case
def records_are_shown_by_filter():
    with scratch() as place:
        others = [{"action": "create", "outcome": "ok", "sandbox": "naaaaaaaaaaaa"}]
        write(place / "audit", [*commands(3), *others])
        where = ("--directory", str(place / "audit"), "--json")
        shown = call("audit", "show", *where, "--sandbox", SANDBOX).stdout.splitlines()
        expect_equal([json.loads(line)["id"] for line in shown], [1, 2, 3, 4, 5, 6], "of a sandbox")
        shown = call("audit", "show", *where, "--action", "create").stdout.splitlines()
        expect_equal(len(shown), 1, "of an action")
        shown = call("audit", "show", *where, "--since", "1h").stdout
        expect_equal(shown, b"", "nothing of the last hour")
        refused = call("audit", "show", *where, "--since", "yesterday")
        expect(refused.status != 0 and b"is not a time" in refused.stderr, "a time that is none")


@suite.case
def names_cannot_play_with_the_terminal():
    with scratch() as place:
        write(place / "audit", [{"action": "exec", "sandbox": SANDBOX, "outcome": "begun",
                                 "arguments": {"argv": ["\u001b]0;owned\u0007"]},
                                 "detail": "\u001b[2J"}])
        for words in (("audit", "show"), ("history", SANDBOX)):
            shown = call(*words, "--directory", str(place / "audit")).stdout
            expect(b"\x1b" not in shown and b"\x07" not in shown, f"{words}: {shown!r}")


@suite.case
def export_has_the_shape_of_ocsf():
    with scratch() as place:
        write(place / "audit", [*commands(1), {"action": "destroy", "outcome": "ok",
                                              "sandbox": SANDBOX}])
        events = [json.loads(line) for line in
                  call("audit", "export", "--directory", str(place / "audit")).stdout.splitlines()]
        expect_equal([event["class_uid"] for event in events], [1007, 1007, 6003], "classes")
        for event in events:
            expect_equal(event["type_uid"], event["class_uid"] * 100 + event["activity_id"], "type")
            expect_equal(event["category_uid"], event["class_uid"] // 1000, "category")
            for member in ("time", "severity_id", "status_id", "metadata", "actor"):
                expect(member in event, f"no {member}")
        expect_equal(events[0]["process"]["cmd_line"], "echo 1", "command")


@suite.case
def history_tells_ends_and_what_has_none():
    with scratch() as place:
        write(place / "audit", list(commands(2))[:3])
        shown = call("history", SANDBOX, "--json", "--directory", str(place / "audit"))
        entries = [json.loads(line) for line in shown.stdout.splitlines()]
        expect_equal([entry["outcome"] for entry in entries], ["exited 0", "unknown"], "outcomes")
        expect_equal(entries[0]["command"], "echo 1", "command")
        none = call("history", "nffffffffffff", "--directory", str(place / "audit"))
        expect(none.status != 0 and b"no command" in none.stderr, "a sandbox nobody knows")


@suite.case
def hostile_files_end_in_an_error_not_in_a_crash():
    for content in (b"\0" * 100_000, b"{" * 300_000, b'{"id":1,"prev":"' + b"f" * 200 + b"\n",
                    b'{"id":18446744073709551616,"prev":""}\n', b"\xff\xfe\n" * 1000):
        with scratch() as place:
            (place / "audit").mkdir()
            (place / "audit" / f"{1:020}.jsonl").write_bytes(content)
            ended = call("audit", "verify", "--directory", str(place / "audit"))
            expect(0 < ended.status < 128, f"status {ended.status}: {ended.stderr!r}")
            call("audit", "show", "--directory", str(place / "audit"))


if __name__ == "__main__":
    sys.exit(suite.run())
