"""The clients that can be given agentkern: where each reads MCP servers and skills of a project. Data only.

Sources: the clients' own documentation of project settings and skills, looked at in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Format = Literal["json", "toml"]
SERVER = "agentkern"
"""The name of the entry."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `servers`: the key of the table of MCP servers. `fields`: what its entries have beside the command.

    Paths are relative to the project. `next_step`: what a person does once.
    """

    name: str
    title: str
    config: str
    format: Format
    servers: str
    skills: str
    fields: Mapping[str, str]
    next_step: str


_STDIO = {"type": "stdio"}
CLIENTS: Mapping[str, Client] = {
    row.name: row
    for row in (
        Client(
            "claude", "Claude Code", ".mcp.json", "json", "mcpServers", ".claude/skills", _STDIO,
            "start `claude` here and approve the server; `/mcp` lists it",
        ),
        Client(
            "codex", "Codex", ".codex/config.toml", "toml", "mcp_servers", ".agents/skills", {},
            "start `codex` here and trust the folder: only then it reads `.codex`; `/mcp` lists the server",
        ),
        Client(
            "gemini", "Gemini CLI", ".gemini/settings.json", "json", "mcpServers", ".gemini/skills", {},
            "start `gemini` here; `/mcp` and `/skills` list what it found",
        ),
        Client(
            "cursor", "Cursor", ".cursor/mcp.json", "json", "mcpServers", ".cursor/skills", _STDIO,
            "open the folder in Cursor and switch the server on in its MCP settings",
        ),
        Client(
            "agents", "any client of .agents", ".mcp.json", "json", "mcpServers", ".agents/skills", _STDIO,
            "start the client here; it finds both files by itself",
        ),
    )
}  # fmt: skip
