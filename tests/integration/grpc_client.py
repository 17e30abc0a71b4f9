"""A gRPC client that is not ours: grpcio, which learns all there is to know by reflection."""
import contextlib
import queue
import time

from daemon_client import TOKENS, daemon
from python_packages import install
from support import Failed, Skip

SERVICE = "nutshell.v1.Nutshell"


class Client:
    def __init__(self, target, token=None, credentials=None, options=()):
        import grpc
        from google.protobuf.descriptor_pool import DescriptorPool
        from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
            ProtoReflectionDescriptorDatabase)
        options = [("grpc.use_local_subchannel_pool", 1), *options]
        self.channel = (grpc.secure_channel(target, credentials, options) if credentials
                        else grpc.insecure_channel(target, options))
        self.metadata = [("authorization", f"Bearer {TOKENS.get(token, token)}")] if token else []
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = DescriptorPool(self.database)
        self.service = None

    def close(self):
        self.channel.close()

    def methods(self):
        if self.service is None:
            self.service = self.pool.FindServiceByName(SERVICE)
        return self.service.methods_by_name

    def message(self, name, **fields):
        from google.protobuf import message_factory
        kind = self.pool.FindMessageTypeByName(f"nutshell.v1.{name}")
        return message_factory.GetMessageClass(kind)(**fields)

    def call(self, name, /, request=None, metadata=(), timeout=60, raw=None, **fields):
        """The answer of a method; an iterator of them where it streams. `request` may be one."""
        from google.protobuf import message_factory
        method = self.methods()[name]
        makes = message_factory.GetMessageClass(method.input_type)
        gives = message_factory.GetMessageClass(method.output_type)
        sends = "stream" if method.client_streaming else "unary"
        comes = "stream" if method.server_streaming else "unary"
        if request is None:
            request = raw if raw is not None else makes(**fields)
        elif method.client_streaming:
            request = iter(request)
        prepare = getattr(self.channel, f"{sends}_{comes}")
        function = prepare(f"/{SERVICE}/{name}",
                           request_serializer=(lambda one: one) if raw is not None
                           else makes.SerializeToString,
                           response_deserializer=gives.FromString)
        return function(request, metadata=[*self.metadata, *metadata], timeout=timeout)

    def make(self, **spec):
        return self.call("CreateSandbox", **{"ttl_ms": 120_000, **spec}).id

    def shell(self, sandbox, script, **more):
        return self.call("Exec", id=sandbox, argv=["sh", "-c", script], **more)


@contextlib.contextmanager
def grpc_daemon(config="", port=0, section=""):
    """A daemon, and a client of its Unix socket."""
    install()
    with contextlib.ExitStack() as stack:
        try:
            one = stack.enter_context(daemon(
                f'[grpc]\nsocket = "@DIRECTORY@/grpc.sock"\n'
                + (f"port = {port}\n" if port else "") + section + config))
        except Failed as failed:
            if "is built without gRPC" in str(failed):
                raise Skip("this nutshelld is built without gRPC") from failed
            raise
        yield one, stack.enter_context(
            contextlib.closing(Client(f"unix:{one.directory}/grpc.sock")))


def grpc_error():
    import grpc
    return grpc.RpcError


def refusal(function):
    """The (status, our code, text) that a call ends with."""
    import grpc
    try:
        given = function()
        if hasattr(given, "__iter__") and not hasattr(given, "DESCRIPTOR"):
            given = list(given)
    except grpc.RpcError as error:
        codes = dict(error.trailing_metadata() or ())
        return error.code().name, codes.get("nutshell-code"), error.details()
    raise Failed(f"it was not refused: {given!r}"[:300])


def wait_until(is_true, message, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise Failed(message)
        time.sleep(0.05)


class Sender:
    """An iterator of requests that is fed from outside."""

    def __init__(self, *first):
        self.waiting = queue.Queue()
        for one in first:
            self.waiting.put(one)

    def __iter__(self):
        return iter(self.waiting.get, None)

    def send(self, one):
        self.waiting.put(one)

    def end(self):
        self.waiting.put(None)


def count_named(client, sandbox, name):
    """How many processes of that name the sandbox has."""
    script = ('n=0; for f in /proc/[0-9]*/comm; do read -r c <$f && [ "$c" = "$1" ] && '
              'n=$((n+1)); done 2>/dev/null; echo $n')
    return int(client.call("Exec", id=sandbox, argv=["sh", "-c", script, "sh", name]).stdout)
