"""Programs as users of roche-sandbox write them. Run as a program in the package's environment: prints `ok NAME` if the part that
the argument names went well."""
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from roche_sandbox import AsyncRoche, Roche
from roche_sandbox.errors import (ProviderUnavailable, RocheError, SandboxNotFound, SandboxPaused,
                                  TimeoutError, UnsupportedOperation)


def ok(name):
    print("ok", name, flush=True)


def raises(kind, step):
    try:
        step()
    except kind:
        return True
    return False


async def araises(kind, step):
    try:
        await step
    except kind:
        return True
    return False


def sync():
    """Over the command."""
    with Roche().create(image="python:3.12-slim") as s:
        assert s.exec(["python3", "-c", "print(6 * 7)"]).stdout == "42\n"
        done = s.exec(["sh", "-c", "echo out; echo err >&2; exit 42"])
        assert (done.exit_code, done.stdout, done.stderr) == (42, "out\n", "err\n"), done
        assert s.id in [one.id for one in Roche().list()]
        assert raises(TimeoutError, lambda: s.exec(["sleep", "60"], timeout_secs=1))
        assert "sleep" not in s.exec(["sh", "-c", "cat /proc/[0-9]*/comm"]).stdout.split()
        s.pause()
        assert raises(SandboxPaused, lambda: s.exec(["true"]))
        s.unpause()
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "in").write_bytes(bytes(range(256)))
            s.copy_to(f"{place}/in", "/tmp/there")
            s.copy_from("/tmp/there", f"{place}/out")
            assert (Path(place) / "out").read_bytes() == bytes(range(256))
    assert raises(SandboxNotFound, lambda: s.exec(["true"]))
    ok("sync")


async def asynchronous(client, has_daemon):
    async with await client.create(image="python:3.12-slim", env={"A": "b c"}, memory="128m",
                                   cpus=0.5, timeout_secs=120) as s:
        done = await s.exec(["sh", "-c", 'echo "$A"; exit 3'], trace_level="summary")
        assert (done.exit_code, done.stdout) == (3, "b c\n"), done
        assert done.trace.duration_secs > 0
        info = [one for one in await client.list() if one.id == s.id][0]
        assert (info.status, info.provider, info.image) == ("running", "docker", "python:3.12-slim"), info
        assert info.expires_at is not None
        await s.pause()
        assert [one.status for one in await client.list() if one.id == s.id] == ["paused"]
        assert await araises(SandboxPaused, s.exec(["true"]))
        await s.unpause()
        assert await araises(TimeoutError, s.exec(["sleep", "60"], timeout_secs=1))
        many = await asyncio.gather(*(s.exec(["echo", str(i)]) for i in range(8)))
        assert [one.stdout for one in many] == [f"{i}\n" for i in range(8)]
        if has_daemon:
            await only_with_daemon(client, s)
    assert await araises(SandboxNotFound, s.exec(["true"]))
    for wrong in ({"network": True}, {"fs_paths": ["/data"]}, {"provider": "firecracker"},
                  {"provider": "wasm"}, {"kernel": "/k"}):
        assert await araises(UnsupportedOperation, client.create(image="python:3.12-slim", **wrong)), wrong
    assert await araises(ProviderUnavailable, client.create(image="no/such-image:1"))
    assert await client.gc() in ([], ["No expired sandboxes found."])


async def only_with_daemon(client, s):
    events = [event async for event in s.exec_stream(
        ["sh", "-c", "echo one; sleep 2.5; echo two >&2; exit 5"], trace_level="standard")]
    kinds = [event.type for event in events]
    assert kinds[0] == "output" and events[0].data == b"one\n", events
    assert kinds[-1] == "result" and events[-1].exit_code == 5, events
    assert "heartbeat" in kinds and kinds.index("heartbeat") < len(kinds) - 2, kinds
    assert [event for event in events if event.type == "heartbeat"][0].memory_bytes > 0
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "in").write_bytes(os.urandom(300_000))
        await s.copy_to(f"{place}/in", "/workspace")
        await s.copy_from("/workspace/in", f"{place}/out")
        assert (Path(place) / "out").read_bytes() == (Path(place) / "in").read_bytes()
        await s.copy_to(f"{place}/in", "/tmp/other")
        assert await araises(UnsupportedOperation, s.copy_to(place, "/tmp/directory"))
        assert await araises(SandboxNotFound, s.copy_from("/tmp/nothing", f"{place}/none"))
        assert not (Path(place) / "none").exists()
    done = await s.exec(["sh", "-c", "printf 'a\\377b'"])
    assert done.stdout == "a\ufffdb", done
    assert await araises(RocheError, s.exec(["sh", "-c", "head -c 6000000 /dev/zero | tr '\\0' x"]))
    first = await s.exec(["sh", "-c", "echo x >> /tmp/once; cat /tmp/once"], idempotency_key="k1")
    again = await s.exec(["sh", "-c", "echo x >> /tmp/once; cat /tmp/once"], idempotency_key="k1")
    assert (await s.exec(["cat", "/tmp/once"])).stdout == "x\n", (first, again)
    assert await client.pool_status() == []
    assert await client.pool_drain() == 0
    await client.pool_warmup()
    assert await araises(UnsupportedOperation, client.create_session(s.id))
    assert await araises(UnsupportedOperation, client.list_sessions())
    assert await araises(UnsupportedOperation, client.destroy_session("x"))
    assert await araises(UnsupportedOperation, client.update_permissions("x", allow_host="a"))
    assert await araises(UnsupportedOperation, client.analyze_intent("import os"))


def over_command():
    asyncio.run(asynchronous(AsyncRoche(mode="direct"), False))
    ok("over_command")


def over_grpc():
    client = AsyncRoche()
    assert type(client.transport).__name__ == "GrpcTransport"
    asyncio.run(asynchronous(client, True))
    ok("over_grpc")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
