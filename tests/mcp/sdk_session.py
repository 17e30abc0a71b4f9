"""One session through all tools with the Python SDK.

    sdk_session.py MODE http URL
    sdk_session.py MODE stdio COMMAND…

MODE is `legacy` (handshake) or `auto` (the newest both speak). Over HTTP it shows the token of the
variable BEARER. Prints the revision, or fails.
"""
import asyncio
import os
import re
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

STEPS = [("ls", {}, ""),
         ("write", {"path": "a.txt", "content": "one\ntwo\n"}, "a.txt"),
         ("read", {"path": "a.txt"}, "two"),
         ("edit", {"path": "a.txt", "old": "two", "new": "three"}, "a.txt"),
         ("diff", {"a": "a.txt"}, "+three"),
         ("grep", {"pattern": "three"}, "a.txt"),
         ("find", {"glob": "*.txt"}, "a.txt"),
         ("git", {"args": ["version"]}, "git version"),
         ("delete", {"path": "a.txt"}, "a.txt"),
         ("undo", {}, "a.txt")]


async def call(client, name, arguments, wanted):
    result = await client.call_tool(f"sandbox_{name}", arguments)
    text = result.content[0].text
    assert not result.is_error, f"{name}: {text}"
    assert wanted in text, f"{name}: {wanted!r} is not in {text[:300]!r}"
    return text


async def session(client):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names[:3] == ["sandbox_read", "sandbox_write", "sandbox_edit"], names
    for name, arguments, wanted in STEPS:
        await call(client, name, arguments, wanted)
    shown = await call(client, "bash", {"command": "seq 1 5000"}, "5000")
    output = re.search(r"\bo[0-9a-f]{4,}\b", shown).group()
    await call(client, "recall", {"id": output, "grep": "4321"}, "4321")
    running = await call(client, "bash", {"command": "sleep 1; echo late", "wait": 0}, "job ")
    await call(client, "job", {"id": re.search(r"\bj\d+\b", running).group(), "wait": 20}, "late")
    about = await client.read_resource((await client.list_resources()).resources[0].uri)
    assert "diff" in about.contents[0].text, about
    prompt = await client.get_prompt((await client.list_prompts()).prompts[0].name, {})
    assert prompt.messages, prompt
    wrong = await client.call_tool("sandbox_read", {"path": "missing.txt"})
    assert wrong.is_error and "not_found" in wrong.content[0].text, wrong


async def main():
    mode, way, *words = sys.argv[1:]
    headers = {"Authorization": "Bearer " + os.environ.get("BEARER", "")}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        server = streamable_http_client(words[0], http_client=http) if way == "http" else stdio_client(
            StdioServerParameters(command=words[0], args=words[1:]))
        async with Client(server, mode=mode) as client:
            await session(client)
            print(client.protocol_version)


asyncio.run(main())
