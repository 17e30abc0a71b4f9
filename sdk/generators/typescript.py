"""Writes the nouns of the API as TypeScript: interfaces in camelCase, and tables that convert them."""
import json

from .wording import camel, pascal

SCALARS = {"text": "string", "integer": "number", "number": "number", "boolean": "boolean", "any": "unknown",
           "object": "Record<string, unknown>"}
# Names that the hand-written part uses for its classes.
RENAMED = {"Sandbox": "SandboxInfo", "Session": "SessionInfo", "Pool": "PoolInfo", "ExecResult": "ExecEnd",
           "ToolResult": "ToolAnswer", "Tools": "ToolList", "Batch": "BatchRequest"}
SCHEMA_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def type_of(one):
    if one.kind == "record":
        return RENAMED.get(one.record, one.record)
    if one.kind == "list":
        return f"Array<{type_of(one.of)}>"
    if one.kind == "map":
        return f"Record<string, {type_of(one.of)}>"
    if one.words:
        # Later versions of the daemon may have more words.
        return " | ".join(json.dumps(word) for word in one.words) + " | (string & {})"
    return SCALARS[one.kind]


def comment(text, indent=""):
    text = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def interface(record):
    lines = [comment(record.help) + f"export interface {RENAMED.get(record.name, record.name)} {{\n"]
    for one in record.fields:
        mark = "" if one.required else "?"
        null = " | null" if one.nullable else ""
        lines.append(comment(one.help, "  ") + f"  {camel(one.name)}{mark}: {type_of(one.type)}{null};\n")
    return "".join(lines) + "}\n\n"


def converted(one):
    """Tells how a value is converted: "" not at all, "=" kept as it is, else by the shape of this name."""
    while one.kind == "list":
        one = one.of
    return one.record if one.kind == "record" else "=" if one.kind in ("map", "any", "object") else ""


def shape(record):
    members = ", ".join(f"{one.name}: {json.dumps(converted(one.type))}" for one in record.fields)
    return f"  {record.name}: {{ {members} }},\n"


def type_of_schema(schema):
    if "enum" in schema:
        return " | ".join(json.dumps(choice) for choice in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(type_of_schema(one) for one in schema[key])
    if schema.get("type") == "array":
        return f"Array<{type_of_schema(schema['items'])}>"
    if schema.get("type") == "object":
        required = schema.get("required", ())
        return "{ " + " ".join(f"{json.dumps(name)}{'' if name in required else '?'}: {type_of_schema(one)};"
                               for name, one in schema.get("properties", {}).items()) + " }"
    return SCHEMA_TYPES.get(schema.get("type"), "unknown")


def tool_types(tools):
    text = ""
    for tool in tools:
        required = tool.schema.get("required", ())
        text += comment(tool.help) + f"export interface {pascal(tool.name)}Arguments {{\n"
        for name, one in tool.schema.get("properties", {}).items():
            mark = "" if name in required else "?"
            text += comment(one.get("description", ""), "  ") + f"  {name}{mark}: {type_of_schema(one)};\n"
        text += "}\n\n"
    text += "export interface ToolArguments {\n"
    text += "".join(f"  {tool.name}: {pascal(tool.name)}Arguments;\n" for tool in tools) + "}\n\n"
    text += "/** The tools as methods. */\nexport interface ToolMethods<Result> {\n"
    for tool in tools:
        mark = "" if tool.schema.get("required") else "?"
        text += comment(tool.help, "  ")
        text += (f"  {tool.name}(args{mark}: {pascal(tool.name)}Arguments, "
                 "options?: { signal?: AbortSignal }): Promise<Result>;\n")
    return text + "}\n\n"


def catalogue(tools):
    listed = [{"name": tool.name, "description": tool.help, "inputSchema": tool.schema,
               "readsOnly": tool.reads_only} for tool in tools]
    return "export const toolCatalogue: ToolDescription[] = " + json.dumps(listed, indent=1) + ";\n\n"


def error_classes(codes):
    text = "type ErrorDetails = { status?: number; cause?: unknown };\n\n"
    for code in codes:
        text += (f"export class {pascal(code)}Error extends SandboxError {{\n"
                 "  constructor(message: string, more: ErrorDetails = {}) {\n"
                 f"    super({json.dumps(code)}, message, more);\n  }}\n}}\n\n")
    rows = "".join(f"  {code}: {pascal(code)}Error,\n" for code in codes)
    return text + f"export const errorClasses = {{\n{rows}}};\n\n"


def generate(description):
    records = description.records.values()
    text = "// Written by sdk/generate.py from the description of the API. Do not edit.\n\n"
    text += 'import { SandboxError } from "./sandbox_error.js";\n\n'
    text += "".join(interface(record) for record in records)
    text += tool_types(description.tools)
    text += ("export interface ToolDescription {\n  name: string;\n  description: string;\n"
             "  inputSchema: Record<string, unknown>;\n  readsOnly: boolean;\n}\n\n")
    text += f"export const api = {json.dumps(description.api)};\n\n"
    text += error_classes(description.error_codes)
    codes = " | ".join(json.dumps(code) for code in description.error_codes)
    text += f"export type ErrorCode = {codes};\n"
    text += f"export const errorCodes: ErrorCode[] = {json.dumps(description.error_codes)};\n\n"
    text += catalogue(description.tools)
    text += "export const shapes = {\n" + "".join(shape(record) for record in records) + "};\n"
    text += "export type ShapeName = keyof typeof shapes;\n\nexport const operations = {\n"
    for one in description.operations:
        text += comment(one.summary, "  ")
        text += f"  {one.name}: {{ method: {json.dumps(one.method)}, path: {json.dumps(one.path)} }},\n"
    text += "};\nexport type Operation = keyof typeof operations;\n"
    return {"typescript/src/generated.ts": text}
