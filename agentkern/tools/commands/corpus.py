"""`agentkern corpus`: list, search, show, verify, export."""

from __future__ import annotations

from pathlib import Path

import click

from agentkern.tools.artifacts import default_store
from agentkern.tools.commands.options import json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.corpus import corpus_export, corpus_list, corpus_show, corpus_verify
from agentkern.tools.output import finish
from agentkern.tools.render import corpus_list_report, corpus_show_report, corpus_verify_report, headline
from agentkern.tools.results import Result
from agentkern.tools.sources import usage_error

corpus_option = click.option(
    "--corpus",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The corpus folder, if not the one of this package.",
)


@click.group()
def command() -> None:
    """Verified kernels to learn from."""


@command.command("list")
@corpus_option
@json_option
def list_kernels(corpus: Path | None, *, as_json: bool) -> None:
    """Name every kernel."""
    result = corpus_list(corpus=corpus)
    finish(result, corpus_list_report(result), as_json=as_json)


@command.command()
@click.argument("text", nargs=-1, required=True)
@corpus_option
@json_option
def search(text: tuple[str, ...], corpus: Path | None, *, as_json: bool) -> None:
    """Name the kernels that hold every word of TEXT."""
    result = corpus_list(" ".join(text), corpus)
    finish(result, corpus_list_report(result), as_json=as_json)


@command.command()
@click.argument("name")
@corpus_option
@json_option
def show(name: str, corpus: Path | None, *, as_json: bool) -> None:
    """Show a kernel with its text, notes, shapes, criterion and record."""
    result = corpus_show(name, corpus)
    finish(result, corpus_show_report(result), as_json=as_json)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--level", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--record", is_flag=True, help="Write the outcome into each meta.toml.")
@corpus_option
@json_option
def verify(names: tuple[str, ...], level: str, corpus: Path | None, *, record: bool, as_json: bool) -> None:
    """Verify the named kernels, all by default, against their references and records."""
    with progress(as_json=as_json) as report:
        result = corpus_verify(names, "full" if level == "full" else "quick", report, corpus, record=record)
    finish(result, corpus_verify_report(result), as_json=as_json)


@command.command()
@click.option("--format", "form", type=click.Choice(["jsonl"]), default="jsonl", show_default=True)
@click.option("-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of stdout.")
@corpus_option
@json_option
def export(form: str, output: Path | None, corpus: Path | None, *, as_json: bool) -> None:
    """Print every kernel with its task, CUDA and notes, one JSON object a line."""
    lines = list(corpus_export(corpus))
    text = "".join(f"{line}\n" for line in lines)
    if output is None and not as_json:
        click.echo(text, nl=False)
        return
    try:
        kept = default_store().put(form, text.encode(), path=output)
    except OSError as e:
        raise usage_error("-o", f"`{output}` cannot be written: {e.strerror}") from e
    result = Result(status="ok", summary=f"{len(lines)} kernels in {kept.path}", artifacts=(kept,))
    finish(result, headline(result), as_json=as_json)
