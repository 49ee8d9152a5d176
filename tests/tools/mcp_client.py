"""A client of the MCP SDK that talks to the server in a subprocess, over stdio, as a model's client does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

T = TypeVar("T")


class Conversation:
    """One connection. Every answer's text and structured form are held to be equal."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.progress: list[str] = []

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool that must answer."""

        async def on_progress(_progress: float, _total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        result = await self.client.call_tool(tool, arguments, progress_callback=on_progress)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert not result.is_error, content.text
        assert json.loads(content.text) == result.structured_content
        assert result.structured_content is not None
        return result.structured_content

    async def misuse(self, tool: str, **arguments: object) -> str:
        """Call a tool wrongly; return what it says."""
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert result.is_error
        return content.text


def converse(talk: Callable[[Conversation], Awaitable[T]], cache: Path, *options: str) -> T:
    """Start a server with options, talk to it, end it."""

    async def run() -> T:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "agentkern", "mcp", *options], env={"AGENTKERN_CACHE_DIR": str(cache)}
        )
        async with Client(stdio_client(server)) as client:
            return await talk(Conversation(client))

    return asyncio.run(run())
