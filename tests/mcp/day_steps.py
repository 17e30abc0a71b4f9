"""Calls tools through the Python SDK: day_steps.py COMMAND…

Reads a JSON list of [tool, arguments] from standard input and prints a JSON list of [is_error, text].
"""
import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    steps = json.load(sys.stdin)
    command, *words = sys.argv[1:]
    parameters = StdioServerParameters(command=command, args=words, env=dict(os.environ), cwd=os.getcwd())
    answers = []
    async with Client(stdio_client(parameters), mode="auto") as client:
        for tool, arguments in steps:
            result = await client.call_tool(f"sandbox_{tool}", arguments)
            answers.append([bool(result.is_error), "".join(part.text for part in result.content)])
    print(json.dumps(answers))


asyncio.run(main())
