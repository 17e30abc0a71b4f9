#!/usr/bin/env python3
"""Generates the SDKs' types, operations and tools from docs/api: openapi.json, schema.json, tools.json.

  sdk/generate.py                 for every SDK
  sdk/generate.py python go       for these
  sdk/generate.py --check python  writes nothing; fails if a generated file is missing or differs

Each SDK has a back end sdk/generators/NAME.py with `generate(description) -> {path in sdk/: text}`.
The generated files are not kept in the tree.
"""
import importlib
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SDK = ROOT / "sdk"
LANGUAGES = ("python", "typescript", "go")
# Names for objects that the description leaves without one: (parent, property).
NAMES = {
    ("Changes", "changes"): "Change",
    ("Directory", "entries"): "DirectoryEntry",
    ("History", "entries"): "HistoryEntry",
    ("Batch", "items"): "BatchItem",
    ("Session", "usage"): "Usage",  # has the properties of Budget
}


@dataclass(frozen=True)
class Type:
    """kind: text, integer, number, boolean, any, object (of any content), list, map or record."""
    kind: str
    words: tuple[str, ...] = ()     # of a text: the only ones
    of: "Type | None" = None        # of each item of a list, each value of a map
    record: str = ""                # name of the record


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    help: str = ""
    required: bool = False
    nullable: bool = False
    least: int | None = None
    most: int | None = None


@dataclass
class Record:
    name: str
    help: str
    fields: list[Field]
    taken: bool = False   # part of a request
    given: bool = False   # part of an answer


@dataclass(frozen=True)
class Operation:
    name: str             # operationId: createSandbox
    method: str
    path: str             # /v1/sandboxes/{id}
    summary: str
    parameters: tuple[str, ...]    # in the path
    query: tuple[str, ...]
    takes_key: bool       # an Idempotency-Key
    takes: str = ""       # record of the JSON body
    gives: str = ""       # record of the JSON answer


@dataclass(frozen=True)
class Tool:
    name: str
    help: str
    fields: tuple[Field, ...]
    reads_only: bool
    schema: dict = field(hash=False)   # JSON Schema of the arguments


@dataclass
class Description:
    api: str                           # "v1"
    records: dict[str, Record]
    operations: list[Operation]
    tools: list[Tool]
    roomkit_tools: list[dict]          # the catalogue in RoomKit's dialect
    error_codes: list[str]


class Reader:
    def __init__(self, openapi, schema, tools):
        self.openapi, self.tools = openapi, tools
        self.helps = {noun["name"]: noun["help"] for noun in schema["nouns"]}
        self.records = {}
        # An object that is described inline is the noun with the same properties.
        self.names = {}
        for name, shape in openapi["components"]["schemas"].items():
            self.names.setdefault(frozenset(shape.get("properties", {})), name)
        for noun in schema["nouns"]:
            for keep in (lambda f: True, lambda f: f["set_by"] != "nobody",
                         lambda f: not f.get("secret")):
                known = frozenset(f["name"] for f in noun["fields"] if keep(f))
                self.names.setdefault(known, noun["name"])

    def read(self):
        for name, shape in self.openapi["components"]["schemas"].items():
            self.add(name, shape)
        operations = [self.operation(path, method, told)
                      for path, methods in self.openapi["paths"].items()
                      for method, told in methods.items()]
        for operation in operations:
            self.mark(operation.takes, "taken")
            self.mark(operation.gives, "given")
        for name in ("Problem", "ExecState"):
            self.mark(name, "given")
        tools = [self.tool(told) for told in self.tools["tools"]]
        codes = self.openapi["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
        return Description("v1", self.records, operations, tools, self.tools["roomkit"], codes)

    def add(self, name, shape):
        if name not in self.records:
            record = self.records[name] = Record(name, self.helps.get(name, ""), [])
            record.fields = self.fields(name, shape)
        return name

    def fields(self, name, shape):
        required = shape.get("required", ())
        return [Field(key, self.type(value, name, key), value.get("description", ""),
                      key in required, bool(value.get("nullable")), value.get("minimum"),
                      value.get("maximum"))
                for key, value in shape.get("properties", {}).items()]

    def type(self, shape, parent, key):
        kind = shape.get("type")
        if "$ref" in shape:
            return Type("record", record=shape["$ref"].rsplit("/", 1)[1])
        if kind == "string":
            return Type("text", tuple(shape.get("enum", ())))
        if kind in ("integer", "number", "boolean"):
            return Type(kind)
        if kind == "array":
            return Type("list", of=self.type(shape["items"], parent, key))
        if kind != "object":
            return Type("any")
        if isinstance(shape.get("additionalProperties"), dict):
            return Type("map", of=self.type(shape["additionalProperties"], parent, key))
        if "properties" not in shape:
            return Type("object")
        known = self.names.get(frozenset(shape["properties"]))
        name = NAMES.get((parent, key)) or known or parent + key.title().replace("_", "")
        return Type("record", record=self.add(name, shape))

    def mark(self, name, side):
        record = self.records.get(name)
        if record is None or getattr(record, side):
            return
        setattr(record, side, True)
        for one in record.fields:
            of = one.type
            while of.of is not None:
                of = of.of
            self.mark(of.record, side)

    @staticmethod
    def operation(path, method, told):
        def record_of(content):
            ref = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            return ref.rsplit("/", 1)[-1]
        answers = [record_of(answer.get("content", {}))
                   for status, answer in told["responses"].items() if status[0] == "2"]
        parameters = told.get("parameters", ())
        return Operation(
            told["operationId"], method.upper(), path, told.get("summary", ""),
            tuple(re.findall(r"\{(\w+)\}", path)),
            tuple(one["name"] for one in parameters if one["in"] == "query"),
            any(one["name"] == "Idempotency-Key" for one in parameters),
            record_of(told.get("requestBody", {}).get("content", {})),
            next(filter(None, answers), ""))

    def tool(self, told):
        schema = told["inputSchema"]
        return Tool(told["name"], told["description"],
                    tuple(self.fields("Tool" + told["name"].title(), schema)),
                    told["annotations"]["readOnlyHint"], schema)


def load():
    api = ROOT / "docs/api"
    return Reader(*(json.loads((api / name).read_text())
                    for name in ("openapi.json", "schema.json", "tools.json"))).read()


def replace(place, text):
    """At once, because several suites may generate at the same time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(place)


def main(words):
    is_check = "--check" in words
    chosen = [word for word in words if word != "--check"] or [
        name for name in LANGUAGES if (SDK / f"generators/{name}.py").exists()]
    if unknown := [name for name in chosen if name not in LANGUAGES]:
        print(__doc__)
        return 0 if unknown[0] in ("-h", "--help") else 2
    sys.path.insert(0, str(SDK))
    description = load()
    stale = []
    for language in chosen:
        for path, text in importlib.import_module(f"generators.{language}").generate(
                description).items():
            place = SDK / path
            if place.exists() and place.read_text() == text:
                continue
            stale.append(path)
            if not is_check:
                replace(place, text)
    if is_check and stale:
        print("sdk/generate.py: to be generated again: " + ", ".join(stale), file=sys.stderr)
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
