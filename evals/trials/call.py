"""One tool call of an attempt, over MCP on stdio, kept in the attempt's log.

    python -m evals.trials.call LOG TASK TOOL [FILE.json]

FILE.json holds the tool's arguments (`-`: standard input); `{"source_file": "k.py"}` stands for the text of a file.
Prints the answer as the client sees it. A job that takes longer is waited for; waiting is not a call.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

POLL_S = 2.0
WAIT_S = 300.0


async def call(tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The answer's text, and whether the tool refused the call itself."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "agentkern", "mcp"])
    async with Client(stdio_client(server)) as client:
        text, is_error = await _once(client, tool, arguments)
        waited = 0.0
        while not is_error and (job := json.loads(text).get("job_id")) and _is_running(text) and waited < WAIT_S:
            await asyncio.sleep(POLL_S)
            waited += POLL_S
            text, is_error = await _once(client, "ak_job", {"job_id": job})
        return text, is_error


async def _once(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.is_error)


def _is_running(text: str) -> bool:
    return json.loads(text).get("status") == "running"


def main() -> int:
    """Make the call, print, keep."""
    log, task, tool = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    text = sys.stdin.read() if sys.argv[4:] in ([], ["-"]) else Path(sys.argv[4]).read_text()
    arguments: dict[str, Any] = json.loads(text or "{}")
    if "source_file" in arguments:
        arguments["source"] = Path(arguments.pop("source_file")).read_text()
    answer, is_error = asyncio.run(call(tool, arguments))
    record = {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S"), "task": task, "tool": tool,
        "arguments": arguments, "refused": is_error, "answer": answer,
    }  # fmt: skip
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(answer)
    return int(is_error)


if __name__ == "__main__":
    raise SystemExit(main())
