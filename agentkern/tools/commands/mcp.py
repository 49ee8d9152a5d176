"""`agentkern mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from agentkern.evals.handed_in import SubmissionFile
from agentkern.tools.server.stdio import serve
from agentkern.tools.server.submit import Judging


@click.command()
@click.option("--transport", type=click.Choice(["stdio"]), default="stdio", show_default=True)
@click.option(
    "--exclude",
    "hidden",
    multiple=True,
    metavar="NAME",
    help="Hide a kernel of the corpus and its near duplicates, by name or group; repeat for more.",
)
@click.option(
    "--submissions",
    "submissions_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep what ak_submit is given in this file, JSON objects by line: a submission, and again once it is judged.",
)
@click.option("--tasks", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The tasks' folder.")
@click.option("--task", "only", metavar="NAME", help="The only task that may be answered.")
@click.option("--judge-level", "level", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--judge-device", "device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--judge-seed", "seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--language",
    type=click.Choice(["agentkern", "cuda", "triton"]),
    default="agentkern",
    show_default=True,
    help="Of the texts: another one has the tools that evaluations compare with.",
)
def command(  # noqa: PLR0913 - one parameter per option
    *,
    transport: str,
    hidden: tuple[str, ...],
    submissions_file: Path | None,
    tasks: Path | None,
    only: str | None,
    level: Literal["quick", "full"],
    device: Literal["cpu", "cuda"],
    seed: int,
    language: Literal["agentkern", "cuda", "triton"],
) -> None:
    """Serve the tools over the Model Context Protocol, on stdin and stdout."""
    assert transport == "stdio"
    serve(hidden, Judging(SubmissionFile(submissions_file), tasks, level, device, seed, language, only))
