"""The Python SDK's generated files: types, tools as methods, and the synchronous twin."""
import json
import keyword
import re
import textwrap
from pathlib import Path

PACKAGE = "python/src/nutshell_sandbox"
SOURCE = Path(__file__).resolve().parents[1] / PACKAGE / "_async"
MADE_BY = '"""{what}\n\nMade by sdk/generate.py; changes here are lost.\n"""\n'
# The SDK's own classes have these names.
TAKEN_NAMES = {"Sandbox", "Session", "Pool", "ExecResult", "Tools", "ToolResult"}
DEFAULTS = {"text": '""', "integer": "0", "number": "0.0", "boolean": "False", "any": "None"}


def class_name(record):
    both = record.taken and record.given
    return record.name + "Info" if both or record.name in TAKEN_NAMES else record.name


def type_text(kind, records, given):
    """The annotation of a Type, in an answer (given) or a request."""
    if kind.kind == "text":
        return f"Literal[{', '.join(map(repr, kind.words))}]" if kind.words else "str"
    simple = {"integer": "int", "number": "float", "boolean": "bool", "any": "Any",
              "object": "dict[str, Any]"}
    if kind.kind in simple:
        return simple[kind.kind]
    if kind.kind == "list":
        return f"{'list' if given else 'Sequence'}[{type_text(kind.of, records, given)}]"
    if kind.kind == "map":
        return f"{'dict' if given else 'Mapping'}[str, {type_text(kind.of, records, given)}]"
    record = records[kind.record]
    return class_name(record) if given else record.name


def docstring(text, indent="    "):
    text = text.replace("\\", "\\\\").rstrip()
    lines = textwrap.wrap(text, 94 - len(indent)) or [""]
    return f'{indent}"""' + f"\n{indent}".join(lines) + ('"""' if len(lines) == 1 else f'\n{indent}"""')


def note(field):
    return f"  # {field.help}" if field.help else ""


def request_class(record, records):
    """A TypedDict; Python 3.10 has no Required, so required keys come from a base class."""
    required = [one for one in record.fields if one.required]
    optional = [one for one in record.fields if not one.required]
    lines = []
    base = "TypedDict, total=False"
    if required and optional:
        lines += [f"class _{record.name}(TypedDict):", *request_fields(required, records), "", ""]
        base = f"_{record.name}, total=False"
    elif required:
        base = "TypedDict"
    lines += [f"class {record.name}({base}):", docstring(record.help or "The body of a request.")]
    shown = optional if required and optional else record.fields
    return "\n".join(lines + [""] + request_fields(shown, records))


def request_fields(fields, records):
    return [f"    {one.name}: {type_text(one.type, records, False)}{note(one)}" for one in fields]


def default_of(field):
    return "None" if is_optional(field) else DEFAULTS.get(field.type.kind, "None")


def is_optional(field):
    return field.nullable or (field.type.words and not field.required)


def answer_class(record, records):
    lines = [f"class {class_name(record)}(Record):", docstring(record.help or "An answer."), ""]
    nested, lists, maps = [], [], []
    for one in record.fields:
        text = type_text(one.type, records, True)
        if is_optional(one):
            text += " | None"
        kind = one.type
        inner = kind.of if kind.kind == "list" else kind
        if inner.kind == "record":
            nested.append((one.name, class_name(records[inner.record])))
        is_container = kind.kind in ("list", "map", "object", "record") and not one.nullable
        if is_container and kind.kind != "record":
            (lists if kind.kind == "list" else maps).append(one.name)
        has_value = is_container or (one.type.words and not is_optional(one))
        value = "" if has_value else f" = {default_of(one)}"
        lines.append(f"    {one.name}: {text}{value}{note(one)}")
    pairs = "".join(f'"{name}": {of}, ' for name, of in nested)
    if nested:
        lines.append(f"    _nested: ClassVar[dict[str, type[Record]]] = {{{pairs.rstrip(', ')}}}")
    for name, found in (("_lists", lists), ("_maps", maps)):
        if found:
            lines.append(f"    {name}: ClassVar[tuple[str, ...]] = "
                         f"({', '.join(map(repr, found))},)")
    return "\n".join(lines)


def in_order(records):
    """Records after those that they hold."""
    done = []

    def visit(record):
        if record in done:
            return
        for one in record.fields:
            kind = one.type
            while kind.of is not None:
                kind = kind.of
            if kind.record:
                visit(records[kind.record])
        done.append(record)
    for record in records.values():
        visit(record)
    return done


def types(description):
    records = description.records
    parts = [MADE_BY.format(what="Types, operations and tools of the API."),
             "from __future__ import annotations\n\n"
             "from collections.abc import Mapping, Sequence\n"
             "from typing import Any, ClassVar, Literal, TypedDict\n\n"
             "from nutshell_sandbox._record import Record\n\n"
             f"API = {description.api!r}\n"
             f"ERROR_CODES = {tuple(description.error_codes)!r}\n"]
    for record in in_order(records):
        if record.taken:
            parts.append("\n" + request_class(record, records))
        if record.given:
            parts.append("\n" + answer_class(record, records))
    rows = "".join(f'    "{one.name}": ("{one.method}", "{one.path}"),\n'
                   for one in description.operations)
    parts.append("\n# Every operation of the API: its method and path.\n"
                 f"OPERATIONS: dict[str, tuple[str, str]] = {{\n{rows}}}\n")
    listed = [{"name": one.name, "description": one.help, "inputSchema": one.schema,
               "reads_only": one.reads_only} for one in description.tools]
    parts.append("# The catalogues of tools as JSON, parsed when first asked for.\n"
                 f"TOOLS = {json.dumps(listed)!r}\n"
                 f"ROOMKIT_TOOLS = {json.dumps(description.roomkit_tools)!r}")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def parameter_text(field):
    name = field.name + "_" if keyword.iskeyword(field.name) else field.name
    kind = field.type
    text = type_text(kind, {}, False) if kind.kind != "list" else ""
    if kind.kind == "list":
        text = "Sequence[Mapping[str, Any]]" if kind.of.kind == "record" else "str | Sequence[str]"
    return f"{name}: {text}" if field.required else f"{name}: {text} | None = None"


def tool_method(tool):
    fields = sorted(tool.fields, key=lambda one: not one.required)
    told = "\n".join(f"        {one.name}: {one.help}" for one in fields if one.help)
    body = docstring(tool.help, "        ")
    if told:
        body = body.removesuffix('"""').rstrip() + f"\n\n{told}\n        " + '"""'
    passed = "".join(f'"{one.name}": {one.name}, ' for one in fields)
    listed = ", ".join(["self", *map(parameter_text, fields)])
    head = f"    async def {tool.name}({listed}) -> ToolResult:"
    if len(head) > 99:
        head = (f"    async def {tool.name}(\n        "
                + ",\n        ".join(["self", *map(parameter_text, fields)])
                + ",\n    ) -> ToolResult:")
    return f"{head}\n{body}\n        return await self.call(\"{tool.name}\", {{{passed[:-2]}}})\n"


def tools(description):
    return (MADE_BY.format(what="The tools as methods.")
            + "from __future__ import annotations\n\n"
              "from collections.abc import Mapping, Sequence\n"
              "from typing import Any, Literal\n\n"
              "from nutshell_sandbox._async.tool_calls import AsyncToolCalls\n"
              "from nutshell_sandbox._results import ToolResult\n\n\n"
              "class AsyncTools(AsyncToolCalls):\n"
              '    """The tools of a sandbox; each answers what a model reads."""\n\n'
            + "\n".join(map(tool_method, description.tools)))


RULES = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\b_async\b", "_sync"),
    (r"\b_io_async\b", "_io_sync"),
]


def to_sync(text):
    """The synchronous twin of a module. `# sync: CODE` becomes CODE, and lines that end in
    `# async only` go."""
    lines = []
    for line in text.splitlines():
        if line.endswith("# async only"):
            continue
        if told := re.match(r"(\s*)# sync: (.*)$", line):
            lines.append(told[1] + told[2])
            continue
        for pattern, by in RULES:
            line = re.sub(pattern, by, line)
        lines.append(line)
    text = "\n".join(lines) + "\n"
    return re.sub(r'\A"""', '"""Made by sdk/generate.py from the asynchronous twin. ', text)


def generate(description):
    files = {f"{PACKAGE}/_generated.py": types(description),
             f"{PACKAGE}/_async/tools.py": tools(description)}
    sources = {path.name: path.read_text() for path in sorted(SOURCE.glob("*.py"))}
    sources["tools.py"] = files[f"{PACKAGE}/_async/tools.py"]
    for name, text in sources.items():
        files[f"{PACKAGE}/_sync/{name}"] = to_sync(text)
    return files
