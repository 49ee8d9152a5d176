"""`agentkern mcp`."""

from __future__ import annotations

import click

from agentkern.tools.server.stdio import serve


@click.command()
@click.option("--transport", type=click.Choice(["stdio"]), default="stdio", show_default=True)
@click.option(
    "--exclude",
    "hidden",
    multiple=True,
    metavar="NAME",
    help="Hide a kernel of the corpus and its near duplicates, by name or group; repeat for more.",
)
def command(transport: str, hidden: tuple[str, ...]) -> None:
    """Serve the tools over the Model Context Protocol, on stdin and stdout."""
    assert transport == "stdio"
    serve(hidden)
