#!/usr/bin/env python3
"""Spans, as a collector gets them: parsed by OpenTelemetry's own messages."""
import base64
import contextlib
import http.server
import json
import socket
import ssl
import sys
import tempfile
import threading
import time
from pathlib import Path

from daemon_client import UnixConnection, call_over, daemon
from daemon_grpc_hostile_test import certificates
from grpc_client import grpc_daemon, wait_until
from python_packages import install
from support import Suite, expect, expect_equal

suite = Suite()

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
SECRET = "hunter2-top-secret-value"


class Collector(http.server.ThreadingHTTPServer):
    """Takes OTLP over HTTP; what is none of it is kept as an error."""

    def __init__(self, certificate=None, key=None):
        install()
        self.spans, self.errors, self.bodies, self.status = [], [], [], 200
        self.headers = []
        super().__init__(("127.0.0.1", 0), Receiver)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self):
        self.shutdown()
        self.server_close()

    def wait_for(self, name, count=1):
        wait_until(lambda: len(self.named(name)) >= count, f"no span {name!r} came", 30)
        expect_equal(self.errors, [], "what the collector could not read")
        return self.named(name)

    def named(self, name):
        return [span for span in self.spans if span.name == name]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            expect_equal(self.path, "/v1/traces", "path")
            expect_equal(self.headers["Content-Type"], "application/json", "type")
            sent = json.loads(body)
            for resource in sent["resourceSpans"]:  # ids are hexadecimal in OTLP, base64 elsewhere
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        for key in ("traceId", "spanId", "parentSpanId"):
                            if key in span:
                                span[key] = base64_of(span[key])
            message = json_format.ParseDict(sent, ExportTraceServiceRequest())
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    self.server.spans.extend(scope.spans)
        except Exception as error:  # of any kind: the sender is to be blamed
            self.server.errors.append(repr(error))
        self.server.bodies.append(body)
        self.server.headers.append(self.headers)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def base64_of(text):
    return base64.b64encode(bytes.fromhex(text)).decode()


def attributes(span):
    return {one.key: one.value.int_value or one.value.string_value for one in span.attributes}


def spans_figure(one, name):
    for line in one.call("GET", "/metrics").body.decode().splitlines():
        if line.startswith(f"nutshell_spans_{name} "):
            return float(line.split()[1])
    return None


@suite.case
def an_exec_is_a_span_of_its_callers_trace():
    with contextlib.closing(Collector()) as collector, \
            daemon(f'[otlp]\nendpoint = "{collector.url}"\n') as one:
        sandbox = one.make()
        answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                          {"argv": ["sh", "-c", f"echo {SECRET}; exit 3"],
                           "environment": {"API_TOKEN": SECRET}}, headers={"traceparent": PARENT})
        done = answer.json()
        span = collector.wait_for("exec")[0]
        request = collector.wait_for("POST /v1/sandboxes/{id}/exec")[0]
        expect_equal((request.trace_id.hex(), request.parent_span_id.hex()), (TRACE, SPAN),
                     "the request's place")
        expect_equal((span.trace_id.hex(), span.parent_span_id), (TRACE, request.span_id),
                     "the exec's place")
        told = attributes(span)
        expect_equal((told["nutshell.sandbox"], told["nutshell.outcome"]), (sandbox, "exited 3"),
                     "what is told")
        expect_equal((told["nutshell.audit_id"], told["nutshell.output_bytes"]),
                     (done["audit_id"], len(SECRET) + 1), "audit id and bytes")
        expect_equal(attributes(request)["http.response.status_code"], 200, "status")
        took = span.end_time_unix_nano - span.start_time_unix_nano
        expect(0 < took <= 60e9, f"it took {took} ns")
        expect(abs(span.end_time_unix_nano / 1e9 - time.time()) < 120, "another time of day")
        alone = collector.wait_for("create")[0]
        expect(alone.trace_id.hex() != TRACE, "a request without a parent has a trace of its own")
        one.call("GET", "/v1/sandboxes/nothing")
        missing = collector.wait_for("GET /v1/sandboxes/{id}")[0]
        expect_equal(attributes(missing)["http.response.status_code"], 404, "status")
        unsampled = f"00-{'b' * 32}-{SPAN}-00"
        one.call("GET", "/v1/pools", headers={"traceparent": unsampled})
        one.call("GET", "/v1/pools", headers={"traceparent": "nonsense"})
        expect(collector.wait_for("GET /v1/pools")[0].trace_id.hex() != "b" * 32,
               "a trace that nobody samples was sent")
        expect(not any(SECRET.encode() in body for body in collector.bodies), "a secret was sent")


@suite.case
def grpc_calls_are_spans_too():
    with contextlib.closing(Collector()) as collector, \
            grpc_daemon(section=f'[otlp]\nendpoint = "{collector.url}"\n') as (_, client):
        sandbox = client.make()
        client.shell(sandbox, "true", metadata=[("traceparent", PARENT)])
        request = collector.wait_for("nutshell.v1.Nutshell/Exec")[0]
        span = collector.wait_for("exec")[0]
        expect_equal(request.trace_id.hex(), TRACE, "the call's trace")
        expect_equal((span.trace_id.hex(), span.parent_span_id), (TRACE, request.span_id),
                     "the exec's place")
        stream = client.call("StreamExec", id=sandbox, argv=["echo", "x"],
                             metadata=[("traceparent", PARENT)])
        expect_equal(list(stream)[-1].ended.exit_code, 0, "streamed")
        expect_equal(collector.wait_for("exec", 2)[1].trace_id.hex(), TRACE,
                     "the trace of an exec that goes on without its caller")


@suite.case
def a_dead_collector_costs_spans_alone():
    with socket.socket() as silent:  # takes connections and answers none
        silent.bind(("127.0.0.1", 0))
        silent.listen(128)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with daemon(f'[otlp]\nendpoint = "{url}"\n[log]\nrequests = false\n') as one:
            slowest, count = 0, 6000
            connection = UnixConnection(one.socket)
            for _ in range(count):
                began = time.monotonic()
                call_over(connection, "GET", "/v1/pools")
                slowest = max(slowest, time.monotonic() - began)
            connection.close()
            expect(slowest < 4, f"a request took {slowest:.1f} s")
            expect(spans_figure(one, "dropped_total") > 0, "nothing is told to be dropped")
            expect_equal(spans_figure(one, "sent_total"), 0, "sent")
            began = time.monotonic()
            one.stop()
            expect(time.monotonic() - began < 20, "its end waits for the collector")
            one.start()


@suite.case
def a_failing_collector_is_tried_again():
    with contextlib.closing(Collector()) as collector, \
            daemon(f'[otlp]\nendpoint = "{collector.url}"\n') as one:
        collector.status = 503
        one.call("GET", "/v1/pools")
        wait_until(lambda: spans_figure(one, "dropped_total") > 0, "a failure is not told", 30)
        collector.status = 200
        collector.spans.clear()

        def arrives():
            one.call("GET", "/v1/tools")
            return spans_figure(one, "sent_total") > 0
        wait_until(arrives, "nothing is sent any more", 60)
        collector.wait_for("GET /v1/tools")


@suite.case
def https_is_verified_and_carries_the_credentials():
    with tempfile.TemporaryDirectory(prefix="nutshell-spans-") as directory:
        certificates(directory)
        place = Path(directory)
        (place / "headers").write_text(f"Authorization: Bearer {SECRET}\nX-Tenant: a b\n")
        (place / "headers").chmod(0o600)
        shown = (place / "localhost.pem", place / "localhost.key")
        ours = f'headers_file = "{place}/headers"\nauthority = "{place}/ca.pem"\n'
        with contextlib.closing(Collector(*shown)) as collector, daemon(
                f'[otlp]\nendpoint = "https://localhost:{collector.server_address[1]}"\n{ours}'
                ) as one:
            one.make()
            collector.wait_for("POST /v1/sandboxes")
            expect_equal(collector.headers[0]["Authorization"], f"Bearer {SECRET}", "header")
            expect_equal(collector.headers[0]["X-Tenant"], "a b", "header")
            said = one.call("GET", "/metrics").body + (one.directory / "log").read_bytes()
            expect(SECRET.encode() not in said, "what lets us in is told to others")
        # By an authority that is not ours: nothing is said to it, not even who we are.
        with contextlib.closing(Collector(*shown)) as stranger, daemon(
                f'[otlp]\nendpoint = "https://localhost:{stranger.server_address[1]}"\n'
                f'headers_file = "{place}/headers"\n') as one:
            one.make()
            wait_until(lambda: spans_figure(one, "dropped_total"), "nothing was lost", 60)
            expect_equal((stranger.bodies, stranger.headers), ([], []), "what a stranger heard")


if __name__ == "__main__":
    sys.exit(suite.run())
