#!/usr/bin/env python3
"""gRPC, through grpcio by reflection: the same operations as HTTP, and the same refusals."""
import os
import signal
import struct
import sys
import threading
import time

from grpc_client import (SERVICE, Sender, count_named, grpc_daemon, grpc_error, refusal,
                         wait_until)
from support import Suite, expect, expect_equal

suite = Suite()

# Operations that have a gRPC service of their own.
STANDARD = {"health": "grpc.health.v1.Health", "readiness": "grpc.health.v1.Health",
            "openapi": "grpc.reflection.v1alpha.ServerReflection"}
OTHER_PROTOCOL = ("/mcp", "/.well-known/",
                  "/v1/streams")  # a sandbox that lives by its connection: for the command line
# Forms of `exec` that HTTP tells apart by headers and members.
MORE = {"StartExec", "StreamExec", "FollowExec", "StreamBatch", "InteractExec"}
# Members that have another form here: bytes need no encoding, a stream has its own messages.
OTHER_FORM = {"exec": {"detach"}, "openTerminal": {"arg", "rows", "columns", "timeout_ms"},
              "getExec": {"stdout_offset", "stderr_offset"}}


def capital(name):
    return name[0].upper() + name[1:]


def resolved(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def members(document, schema, kind, place):
    """Each (place) of the schema that the message has no field for."""
    schema = resolved(document, schema)
    if schema.get("type") == "array":
        yield from members(document, schema["items"], kind, place)
    for name, inner in schema.get("properties", {}).items():
        if name.endswith("_base64"):
            continue
        field = kind.fields_by_name.get(name)
        if field is None:
            yield f"{place}.{name}"
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            if not field.message_type.full_name.startswith("google."):
                yield from members(document, inner, field.message_type, f"{place}.{name}")


def missing_of(document, path, operation, method):
    name = operation["operationId"]
    taken = {one["name"] for one in operation.get("parameters", ()) if one["in"] != "header"}
    inputs = set(method.input_type.fields_by_name)
    if name in ("openTerminal",):
        inputs |= {"id"}
    yield from (f"{name}({one})" for one in taken - inputs - OTHER_FORM.get(name, set()))
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body and name != "callTool":
        gone = members(document, body["schema"], method.input_type, name)
        yield from (one for one in gone if one.split(".")[1] not in OTHER_FORM.get(name, set()))
    for status in ("200", "201"):
        said = operation["responses"].get(status, {}).get("content", {}).get("application/json")
        if said:
            yield from members(document, said["schema"], method.output_type, f"{name}→")


@suite.case
def every_http_operation_is_there():
    with grpc_daemon() as (one, client):
        services = set(client.database.get_services())
        document = one.call("GET", "/v1/openapi.json").json()
        operations = {operation["operationId"]: (path, operation)
                      for path, verbs in document["paths"].items()
                      for verb, operation in verbs.items()
                      if verb != "parameters" and not path.startswith(OTHER_PROTOCOL)}
        methods = client.methods()
        wanted = {capital(name) for name in operations if name not in STANDARD}
        expect_equal(wanted - set(methods), set(), "operations without a method")
        expect_equal(set(methods) - wanted, MORE, "methods without an operation")
        for name in STANDARD.keys() & operations.keys():
            expect(STANDARD[name] in services, f"{STANDARD[name]} is not served: {services}")
        lacking = [gone for name, (path, operation) in operations.items() if name not in STANDARD
                   for gone in missing_of(document, path, operation, methods[capital(name)])]
        expect_equal(lacking, [], "parameters and members without a field")


@suite.case
def health_is_reported():
    with grpc_daemon() as (_, client):
        from grpc_health.v1 import health_pb2, health_pb2_grpc
        stub = health_pb2_grpc.HealthStub(client.channel)
        for name in ("", SERVICE):
            said = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=20)
            expect_equal(said.status, health_pb2.HealthCheckResponse.SERVING, f"health of {name!r}")


@suite.case
def a_sandbox_lives_and_ends():
    with grpc_daemon() as (one, client):
        key = [("idempotency-key", "once")]
        made = client.call("CreateSandbox", ttl_ms=60_000, labels={"of": "grpc"}, metadata=key,
                           limits={"memory_bytes": 256 << 20, "cpus": 0.5})
        again = client.call("CreateSandbox", ttl_ms=60_000, labels={"of": "grpc"}, metadata=key,
                            limits={"memory_bytes": 256 << 20, "cpus": 0.5})
        expect_equal(again.id, made.id, "the same key")
        expect_equal((made.limits.memory_bytes, made.limits.cpus), (256 << 20, 0.5), "limits")
        page = client.call("ListSandboxes", label=["of=grpc"], limit=1)
        expect_equal([sandbox.id for sandbox in page.sandboxes], [made.id], "listed")
        done = client.call("Exec", id=made.id, argv=["sh", "-c", "cat; printf '\\377' >&2; exit 3"],
                           stdin=b"\xfe bytes")
        expect_equal((done.outcome, done.exit_code, done.stdout, done.stderr),
                     ("exited", 3, b"\xfe bytes", b"\xff"), "exec")
        expect(done.audit_id > 0, "no audit id")
        http = one.call("GET", f"/v1/sandboxes/{made.id}").json()
        expect_equal(client.call("GetSandbox", id=made.id).labels["of"], http["labels"]["of"],
                     "the same sandbox over HTTP")
        ran = client.call("CallTool", id=made.id, tool="bash", arguments={"command": "echo tool"})
        expect("tool" in ran.text and not ran.is_error, f"tool: {ran}")
        records = client.call("ListAuditRecords", sandbox=made.id, action="exec", limit=10).records
        expect(any(record.id == done.audit_id for record in records), "the exec is not recorded")
        expect("# TYPE" in client.call("Metrics").text, "no metrics")
        client.call("DestroySandbox", id=made.id)
        status, code, _ = refusal(lambda: client.call("GetSandbox", id=made.id))
        expect_equal((status, code), ("NOT_FOUND", "not_found"), "after its end")


@suite.case
def sessions_and_batches_work():
    with grpc_daemon() as (_, client):
        session = client.call("EnsureSession", name="work", setup=[{"argv": ["echo", "ready"]}],
                              budget={"execs": 2})
        expect_equal((session.was_created, session.setup[0].output), (True, b"ready\n"), "session")
        expect_equal(client.call("EnsureSession", name="work").sandbox_id, session.sandbox_id,
                     "found again")
        client.shell(session.sandbox_id, "true")
        client.shell(session.sandbox_id, "true")
        status, code, _ = refusal(lambda: client.shell(session.sandbox_id, "true"))
        expect_equal((status, code), ("RESOURCE_EXHAUSTED", "resource_exhausted"), "its budget")
        client.call("EndSession", name="work")
        results = client.call("Batch", items=[{"argv": ["echo", str(i)]} for i in range(3)],
                              parallel=2).results
        expect_equal([one.stdout for one in results], [b"0\n", b"1\n", b"2\n"], "batch")


@suite.case
def a_batch_is_sent_as_it_ends():
    with grpc_daemon() as (_, client):
        items = [{"argv": ["cat", "f"], "files": {"/workspace/f": f"file {i}"}} for i in range(4)]
        items.append({"argv": ["/nowhere/to/be/found"]})
        given = {one.index: one for one in client.call("StreamBatch", items=items, parallel=2)}
        expect_equal([given[i].stdout for i in range(4)], [b"file %d" % i for i in range(4)],
                     "outputs")
        expect_equal((given[4].exit_code, given[4].audit_id > 0), (127, True), "the failing one")
        # The second is here while the first still runs; who cancels ends it, and begins no third.
        items = [{"argv": ["sleep", "1000"]}, {"argv": ["echo", "early"]}, *items]
        stream = client.call("StreamBatch", items=[items[0], items[1], items[0], items[0]],
                             parallel=2, timeout=600)
        first = next(stream)
        expect_equal((first.index, first.stdout), (1, b"early\n"), "the first to end")
        stream.cancel()
        wait_until(lambda: not client.call("ListSandboxes").sandboxes,
                   "what a cancelled batch began goes on")
        for wrong in ({"items": []}, {"items": [{"argv": []}]}, {"items": items, "parallel": -1}):
            status, code, _ = refusal(lambda bad=wrong: client.call("StreamBatch", **bad))
            expect_equal((status, code), ("INVALID_ARGUMENT", "invalid_argument"), f"{wrong}")


@suite.case
def a_stream_goes_on_where_it_was_lost():
    with grpc_daemon() as (_, client):
        sandbox = client.make()
        script = "for i in 0 1 2 3 4 5; do echo $i; sleep 0.2; done; echo end >&2"
        stream = client.call("StreamExec", id=sandbox, argv=["sh", "-c", script])
        started = next(stream).started
        first = next(stream).stdout
        stream.cancel()
        expect_equal((first.offset, first.data[:2]), (0, b"0\n"), "the first piece")
        rest = list(client.call("FollowExec", id=sandbox, exec=started,
                                stdout_offset=len(first.data)))
        output = b"".join(event.stdout.data for event in rest)
        expect_equal(first.data + output, b"".join(b"%d\n" % i for i in range(6)), "all of it")
        expect_equal(rest[-1].ended.exit_code, 0, "the end")
        state = client.call("GetExec", id=sandbox, exec=started)
        expect_equal((state.state, state.stdout_bytes), ("ended", 12), "state")


@suite.case
def a_client_types_while_it_reads():
    with grpc_daemon() as (_, client):
        sandbox = client.make()

        def message(**fields):
            return client.message("ExecInput", **fields)
        sender = Sender(message(start={"id": sandbox, "argv": ["cat"]}), message(data=b"one\n"))
        stream = client.call("InteractExec", sender)
        expect_equal(next(stream).stdout.data, b"one\n", "what was typed")
        sender.send(message(data=b"two\n"))
        sender.end()  # which is the end of cat's input, and of nothing else
        rest = list(stream)
        expect_equal(b"".join(event.stdout.data for event in rest), b"two\n", "the rest")
        expect_equal(rest[-1].ended.exit_code, 0, "cat's end")

        sender = Sender(message(start={"id": sandbox, "argv": ["sh"]}),
                        message(window={"rows": 33, "columns": 77}), message(data=b"stty size\n"))
        stream = client.call("OpenTerminal", sender)
        seen = b""
        while b"33 77" not in seen:
            seen += next(stream).stdout.data
        sender.send(message(data=b"exit 5\n"))
        expect_equal(list(stream)[-1].ended.exit_code, 5, "the shell's end")
        sender.end()


@suite.case
def a_cancelled_call_ends_the_whole_process_tree():
    with grpc_daemon() as (_, client):
        sandbox = client.make()
        script = "setsid sleep 9876 & sleep 9876 & echo ready; wait"

        def counted():
            return count_named(client, sandbox, "sleep")
        start = {"id": sandbox, "argv": ["sh", "-c", script]}
        sender = Sender(client.message("ExecInput", start=start))
        stream = client.call("InteractExec", sender)
        next(stream)
        wait_until(lambda: counted() == 2, "the sleepers do not start")
        stream.cancel()
        sender.end()
        wait_until(lambda: counted() == 0, "a cancelled InteractExec leaves processes")
        stream = client.call("StreamExec", on_disconnect="cancel", **start)
        next(stream), next(stream)
        stream.cancel()
        wait_until(lambda: counted() == 0, "a cancelled StreamExec leaves processes")
        status, _, _ = refusal(lambda: client.call("Exec", timeout=1, **start))
        expect_equal(status, "DEADLINE_EXCEEDED", "the caller's deadline")
        wait_until(lambda: counted() == 0, "an Exec whose deadline passed leaves processes")
        kept = client.call("StreamExec", id=sandbox, argv=["sh", "-c", script])
        exec_id = next(kept).started
        next(kept)
        wait_until(lambda: counted() == 2, "the sleepers do not start")
        kept.cancel()
        time.sleep(0.5)
        expect_equal(counted(), 2, "sleepers of a stream that may be lost")
        client.call("SignalExec", id=sandbox, exec=exec_id)
        wait_until(lambda: counted() == 0, "SignalExec leaves processes")


def wire_frame(conversation, kind, payload=b""):
    return struct.pack("<IIB3x", len(payload), conversation, kind) + payload


@suite.case
def the_raw_stream_to_init_is_available():
    hello = wire_frame(0, 1, struct.pack("<QI", 0x6c6c656873747541, 3))
    ping, done = wire_frame(1, 32), wire_frame(1, 47)
    with grpc_daemon() as (_, client):
        sandbox = client.make()
        sender = Sender(client.message("StreamPiece", id=sandbox, data=hello[:5]),
                        client.message("StreamPiece", data=hello[5:] + ping))
        pieces, answer = client.call("OpenStream", sender), b""
        for piece in pieces:
            answer += piece.data
            if done in answer:
                break
        expect(done in answer, f"the answer to a ping: {answer}")
        sender.end()
        expect_equal(b"".join(piece.data for piece in pieces), b"", "after both have ended")
        for first in ({"id": sandbox, "data": b"\xff" * 4096}, {"id": sandbox, "data": hello * 2}):
            broken = Sender(client.message("StreamPiece", **first))
            broken.end()
            try:
                list(client.call("OpenStream", broken, timeout=20))
            except grpc_error() as error:
                expect(error.code().name not in ("INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED"),
                       f"garbage: {error.code().name}")
        for first, wanted in (({}, "INVALID_ARGUMENT"), ({"id": "nffffffffffff"}, "NOT_FOUND")):
            refused = refusal(lambda first=first: client.call(
                "OpenStream", Sender(client.message("StreamPiece", **first))))
            expect_equal(refused[0], wanted, f"a stream to {first}")
        expect_equal(client.shell(sandbox, "echo whole").stdout, b"whole\n", "the sandbox")


@suite.case
def files_go_in_and_out():
    with grpc_daemon() as (_, client):
        sandbox, content = client.make(), os.urandom(3 << 20)

        def pieces(path, end=True):
            yield client.message("WriteFileRequest", id=sandbox, path=path, mode="0600")
            for begin in range(0, len(content), 1 << 20):
                yield client.message("WriteFileRequest", data=content[begin:begin + (1 << 20)])
            if not end:
                threading.Event().wait(30)
        client.call("WriteFile", pieces("/workspace/big"))
        back = b"".join(p.data for p in client.call("ReadFile", id=sandbox, path="/workspace/big"))
        expect(back == content, "other bytes came back")
        part = b"".join(p.data for p in client.call(
            "ReadFile", id=sandbox, path="/workspace/big", offset=100, length=50))
        expect(part == content[100:150], "another range")
        lost = refusal(lambda: client.call("WriteFile", pieces("/workspace/lost", end=False),
                                           timeout=2))
        expect_equal(lost[0], "DEADLINE_EXCEEDED", "an upload that does not end")

        def names():
            return {entry.path for entry in client.call("ListDirectory", id=sandbox, path="/workspace").entries}
        wait_until(lambda: names() == {"big"}, "a lost upload leaves files")
        refused = refusal(lambda: client.call("ReadFile", id=sandbox, path="/workspace/none"))
        expect_equal(refused[:2], ("NOT_FOUND", "not_found"), "a file that is not there")


@suite.case
def running_calls_may_finish_when_the_daemon_stops():
    with grpc_daemon() as (one, client):
        sandbox = client.make()
        answers = []
        running = threading.Thread(
            target=lambda: answers.append(client.shell(sandbox, "sleep 3 && echo done")))
        running.start()
        wait_until(lambda: count_named(client, sandbox, "sleep") == 1, "it does not begin")
        one.process.send_signal(signal.SIGTERM)
        running.join(60)
        expect_equal(one.process.wait(60), 0, "exit status")
        expect_equal([answer.stdout for answer in answers], [b"done\n"], "what ran")
        expect(not os.path.exists(f"{one.directory}/grpc.sock"), "the socket is left")
        one.start()


if __name__ == "__main__":
    sys.exit(suite.run())
