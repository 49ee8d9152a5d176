"""`agentkern mcp`."""

from __future__ import annotations

import click

from agentkern.tools.server.stdio import serve


@click.command()
@click.option("--transport", type=click.Choice(["stdio"]), default="stdio", show_default=True)
def command(transport: str) -> None:
    """Serve the tools over the Model Context Protocol, on stdin and stdout."""
    assert transport == "stdio"
    serve()
