#!/usr/bin/env python3
"""The contract in docs/api matches the programs, and no number in it ever changes."""
import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

from daemon_client import daemon
from support import REPOSITORY, Skip, Suite, call, expect, expect_equal

suite = Suite()
API = REPOSITORY / "docs/api"
HOW = "run scripts/schema, and look at what changed"


def expect_same(text, kept):
    lines = list(difflib.unified_diff(kept.read_text().splitlines(), text.splitlines(),
                                      str(kept.name), "the programs", lineterm=""))
    expect(not lines, f"{HOW}:\n" + "\n".join(lines[:20]))


def schema():
    return json.loads(call("schema").stdout)


@suite.case
def the_kept_schema_is_that_of_the_program():
    expect_same(call("schema").stdout.decode(), API / "schema.json")


@suite.case
def the_kept_openapi_document_is_that_of_the_daemon():
    with daemon() as one:
        document = one.call("GET", "/v1/openapi.json").json()
    expect_same(json.dumps(document, indent=2, ensure_ascii=False) + "\n", API / "openapi.json")


@suite.case
def the_kept_catalogue_of_tools_is_that_of_the_program():
    kept = json.loads((API / "tools.json").read_text())
    for name, flags in (("tools", ["--tool-prefix", ""]), ("roomkit", ["--dialect", "roomkit"])):
        told = json.loads(call("tool", "list", "--json", *flags).stdout)
        known = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in kept[name]]
        expect_equal(told, known, f"{name} of tools.json ({HOW})")


@suite.case
def the_kept_proto_is_the_generated_one():
    tests = Path(os.environ.get("NUTSHELL_TEST_BIN", REPOSITORY / "build/release/tests"))
    generated = tests.parent / "generated/messages/nutshell/v1/nutshell.proto"
    if not generated.exists():
        raise Skip(f"{generated} is missing: the build has no gRPC, or is another one")
    expect_same(generated.read_text(), API / "nutshell.proto")


@suite.case
def a_number_once_given_stays():
    now = {(noun["name"], str(field["number"])): (field["name"], field["type"])
           for noun in schema()["nouns"] for field in noun["fields"] if field["number"]}
    kept = {}
    for line in (API / "numbers.txt").read_text().splitlines():
        noun, number, name, kind = line.split(maxsplit=3)
        expect((noun, number) not in kept, f"{noun} has {number} twice")
        kept[noun, number] = (name, kind)
    for place, field in kept.items():
        expect_equal(now.get(place, "gone"), field, f"{place}: numbers never change their meaning")
    expect_equal(sorted(set(now) - set(kept)), [], f"new numbers: {HOW}")


@suite.case
def scripts_schema_refuses_a_changed_number():
    text = (API / "numbers.txt").read_text().replace("Limits 1 memory_bytes", "Limits 1 other_name")
    done = subprocess.run([REPOSITORY / "scripts/schema", "--numbers", "-"], input=text, text=True,
                          capture_output=True, check=False,
                          env={**os.environ, "NUTSHELL_SCHEMA": call("schema").stdout.decode()})
    expect(done.returncode == 1 and "other_name" in done.stderr, f"{done}")


@suite.case
def every_field_says_what_it_is():
    for noun in schema()["nouns"]:
        for field in noun["fields"]:
            where = f"{noun['name']}.{field['name']}"
            expect(field["type"] and field["set_by"], where)
            plain = field["name"] in ("id", "name", "labels", "exit_code")
            expect(field["help"] or plain, f"{where} has no help")
    spec = next(noun for noun in schema()["nouns"] if noun["name"] == "SandboxSpec")
    fields = {field["name"]: field for field in spec["fields"]}
    expect_equal(fields["environment"].get("secret"), True, "secret")
    expect_equal(fields["workspace"]["set_by"], "own socket", "workspace")
    expect_equal(fields["workspace_began_ns"]["set_by"], "nobody", "read-only")


if __name__ == "__main__":
    sys.exit(suite.run())
