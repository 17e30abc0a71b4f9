#!/usr/bin/env python3
"""sdk/scenarios with the Python SDK, synchronous and asynchronous, and its surface against the API."""
import asyncio
import base64
import inspect
import json
import re
import secrets
import sys

import python_sdk
from support import REPOSITORY, Suite, expect, expect_equal

python_sdk.generate()
import nutshell_sandbox  # noqa: E402

suite = Suite()
SCENARIOS = sorted((REPOSITORY / "sdk/scenarios").glob("*.json"))
POOL = '[[pools]]\nname = "agents"\nmin_idle = 1\nmax_idle = 2\nmax_total = 4\n'
MISSING = object()

# Operations and the methods that call them. An operation without a method has a reason instead.
METHODS = {
    "health": "Client.health", "readiness": "Client.ready", "metrics": "Client.metrics",
    "daemon": "Client.daemon", "createSandbox": "Sandbox.create", "listSandboxes": "Client.sandboxes",
    "checkSpec": "Client.check", "getSandbox": "Sandbox.refresh", "destroySandbox": "Sandbox.close",
    "pauseSandbox": "Sandbox.pause", "resumeSandbox": "Sandbox.resume",
    "extendSandbox": "Sandbox.extend", "getStats": "Sandbox.stats", "listChanges": "Sandbox.changes",
    "createCheckpoint": "Sandbox.checkpoint", "rollback": "Sandbox.rollback",
    "forkSandbox": "Sandbox.fork", "exec": "Sandbox.run", "getExec": "Job.status",
    "signalExec": "Job.signal", "openTerminal": "Sandbox.terminal", "readFile": "Files.read",
    "writeFile": "Files.write", "removeFile": "Files.remove", "listDirectory": "Files.list",
    "makeDirectory": "Files.make_directory", "listTools": "Client.tools", "callTool": "Tools.call",
    "ensureSession": "Session.ensure", "listSessions": "Client.sessions",
    "getSession": "Session.refresh_session", "endSession": "Session.end",
    "renewSession": "Session.renew", "forgetWorkspace": "Session.forget",
    "listPools": "Client.pools", "getPool": "Pool.info", "acquire": "Pool.acquire",
    "release": "Sandbox.close", "warmPool": "Pool.warm", "drainPool": "Pool.drain",
    "batch": "Client.batch", "listAuditRecords": "Client.audit", "getHistory": "Sandbox.history",
    "getEnvironment": "Sandbox.environment", "whyGone": "Sandbox.why_gone", "sweep": "Client.sweep",
    "getNetwork": "Sandbox.network_status", "setNetwork": "Sandbox.set_network",
    "listNetworkEvents": "Sandbox.network_events",
}
NOT_FOR_SDKS = {
    "openapi": "the SDK is generated from it",
    "openStream": "the protocol to init belongs to the command line",
    "openOwnStream": "the protocol to init belongs to the command line",
    "restack": "part of how the command line forks",
}


class Runner:
    """Carries out a scenario with the synchronous classes, or with the asynchronous ones."""

    def __init__(self, is_async):
        self.prefix = "Async" if is_async else ""
        self.saved = {"scenario": "s" + secrets.token_hex(6)}

    async def run(self, scenario):
        for number, step in enumerate(scenario["steps"]):
            where = f"{scenario['name']} step {number} {step['call']}"
            unknown = set(step) - {"call", "arguments", "save", "expect", "error"}
            expect(not unknown, f"{where}: unknown keys {unknown}")
            await self.step(step, where)

    async def step(self, step, where):
        wanted = step.get("error")
        try:
            result = await self.call(step["call"], self.filled(step.get("arguments", {})))
        except nutshell_sandbox.SandboxError as error:
            expect(wanted is not None, f"{where}: {type(error).__name__}: {error}")
            self.check({"code": error.code, "message": error.message}, wanted, where)
            return
        expect(wanted is None, f"{where}: no error, but {result!r}")
        if "save" in step:
            self.saved[step["save"]] = result
        self.check(result, step.get("expect", {}), where)

    async def call(self, name, arguments):
        head, _, rest = name.partition(".")
        if head in ("Sandbox", "Session", "Pool", "Client"):
            kind = getattr(nutshell_sandbox, self.prefix + head)
            return await settled(getattr(kind, rest)(**arguments) if rest else kind(**arguments))
        return await self.method(self.saved[head], rest, arguments)

    async def method(self, target, name, arguments):
        names = {"refresh": {"Session": "refresh_session", "Pool": "info"}}
        kind = type(target).__name__.removeprefix("Async")
        if name == "stream":
            return [{"stream": one.stream, "text": one.text}
                    for one in await items(target.stream(**arguments))]
        if name == "terminal":
            return await terminal(target, **arguments)
        if arguments.pop("streamed", False):
            return await streamed(target, arguments)
        *path, last = name.split(".")
        for part in path:
            target = getattr(target, part)
        return await settled(getattr(target, names.get(last, {}).get(kind, last))(**arguments))

    def filled(self, value):
        if isinstance(value, dict):
            if set(value) == {"base64"}:
                return base64.b64decode(value["base64"])
            return {name: self.filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        if isinstance(value, str) and re.fullmatch(r"\$[a-z]\w*(\.\w+)*", value):
            found = at(self.saved, value[1:])
            expect(found is not MISSING, f"{value} was not saved")
            return found
        return value

    def check(self, result, checks, where):
        for path, wanted in checks.items():
            found = at(result, path)
            wanted = self.filled(wanted)
            expect(holds(None if found is MISSING else found, wanted),
                   f"{where}: '{path}' is {found!r}, not {wanted!r}")

    async def close(self):
        for one in reversed(list(self.saved.values())):
            if hasattr(one, "close"):
                await settled(one.close())


async def settled(value):
    return await value if inspect.isawaitable(value) else value


async def items(stream):
    if hasattr(stream, "__aenter__"):
        async with stream:
            return [one async for one in stream]
    with stream:
        return list(stream)


async def terminal(sandbox, send, **arguments):
    opened = await settled(sandbox.terminal(**arguments))
    await settled(opened.send(send))
    output = b""
    while data := await settled(opened.read()):
        output += data
    return {"output": output.decode(errors="replace"), "exit_code": opened.result.exit_code}


async def streamed(sandbox, arguments):
    pieces, errors = [], []
    result = await settled(sandbox.run(on_stdout=pieces.append, on_stderr=errors.append, **arguments))
    result.streamed_stdout, result.streamed_stderr = "".join(pieces), "".join(errors)
    return result


def at(value, path):
    """Follows a path; `name=value.` finds an item of a list, and its value may have dots."""
    while path:
        if found := re.match(r"(\w+)=(.*)\.(\w+)$", path):
            value, path = find(value, found[1], found[2]), found[3]
            continue
        name, _, path = path.partition(".")
        value = member(value, name)
    return value


def member(value, name):
    if isinstance(value, dict):
        return value.get(name, MISSING)
    if isinstance(value, (list, tuple)):
        return value[int(name)] if int(name) < len(value) else MISSING
    return getattr(value, name, MISSING)


def find(values, name, wanted):
    return next((one for one in values if member(one, name) == wanted), MISSING)


def holds(found, wanted):
    if not isinstance(wanted, dict):
        if isinstance(found, (bytes, bytearray)) and isinstance(wanted, str):
            return bytes(found) == wanted.encode()
        return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
    expect(len(wanted) == 1, f"a check has one name: {wanted}")
    (name, value), = wanted.items()
    checks = {"matches": lambda: isinstance(found, str) and re.search(value, found) is not None,
              "contains": lambda: found is not None and value in found,
              "lacks": lambda: found is not None and value not in found,
              "at_least": lambda: found is not None and found >= value,
              "at_most": lambda: found is not None and found <= value,
              "length": lambda: found is not None and len(found) == value}
    expect(name in checks, f"unknown check {name}")
    return checks[name]()


def run_all(is_async):
    async def run():
        for path in SCENARIOS:
            runner = Runner(is_async)
            try:
                await runner.run(json.loads(path.read_text()))
            finally:
                await runner.close()
    with python_sdk.served(POOL):
        asyncio.run(run())


@suite.case
def every_scenario_holds_for_the_synchronous_classes():
    run_all(is_async=False)


@suite.case
def every_scenario_holds_for_the_asynchronous_classes():
    run_all(is_async=True)


@suite.case
def every_operation_of_the_api_has_a_method():
    told = json.loads((REPOSITORY / "docs/api/openapi.json").read_text())
    operations = {one["operationId"] for methods in told["paths"].values() for one in methods.values()}
    expect_equal(sorted(operations - set(METHODS) - set(NOT_FOR_SDKS)), [], "operations without a method")
    expect_equal(sorted((set(METHODS) | set(NOT_FOR_SDKS)) - operations), [], "methods without an operation")
    places = {}
    for prefix, folder in (("", "_sync"), ("Async", "_async")):
        for module in ("client", "sandbox", "session", "pool", "commands", "files", "tools"):
            loaded = __import__(f"nutshell_sandbox.{folder}.{module}", fromlist=["x"])
            places |= {prefix + name.removeprefix("Async") if prefix else name: value
                       for name, value in vars(loaded).items() if inspect.isclass(value)}
    for method in METHODS.values():
        kind, _, name = method.partition(".")
        for prefix in ("", "Async"):
            expect(callable(getattr(places[prefix + kind], name, None)), f"{prefix}{method} is missing")


@suite.case
def every_option_of_a_spec_can_be_given():
    from nutshell_sandbox._options import spec_of
    told = json.loads((REPOSITORY / "docs/api/openapi.json").read_text())["components"]["schemas"]
    options = set(inspect.signature(nutshell_sandbox.Sandbox).parameters)
    renamed = {"ttl_ms": "ttl", "idle_timeout_ms": "idle_timeout", "memory_bytes": "memory",
               "disk_bytes": "disk", "cpu_time_ms": "cpu_time"}
    members = told["SandboxSpec"]["properties"]
    for name in (*members, *members["limits"]["properties"]):
        expect(renamed.get(name, name) in options, f"Sandbox has no option for {name}")
    expect_equal(spec_of({"memory": "1.5g", "ttl": 0.5, "limits": {"cpus": 2}}),
                 {"limits": {"cpus": 2, "memory_bytes": 3 << 29}, "ttl_ms": 500}, "spec")


@suite.case
def both_twins_have_the_same_methods():
    for name in ("Sandbox", "Session", "Pool", "Client", "Terminal", "Job", "ExecStream"):
        mine, other = (getattr(nutshell_sandbox, prefix + name) for prefix in ("", "Async"))
        names = [{one for one in dir(kind) if not one.startswith("_")} for kind in (mine, other)]
        expect_equal(names[0], names[1], f"methods of {name}")
        for method in names[0]:
            shown = [str(inspect.signature(getattr(kind, method))).replace("Async", "")
                     for kind in (mine, other) if callable(getattr(kind, method))]
            expect(len(set(shown)) <= 1, f"{name}.{method}: {shown}")


if __name__ == "__main__":
    sys.exit(suite.run())
