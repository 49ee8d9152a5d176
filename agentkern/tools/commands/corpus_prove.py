"""`agentkern corpus verify` and `export`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agentkern.tools.artifacts import default_store
from agentkern.tools.commands.options import corpus_option, json_option
from agentkern.tools.commands.terminal import progress
from agentkern.tools.corpus import corpus_verify
from agentkern.tools.corpus_export import corpus_export
from agentkern.tools.corpus_export_records import KINDS, RECORDS
from agentkern.tools.output import finish
from agentkern.tools.render import corpus_verify_report, headline
from agentkern.tools.results import Result
from agentkern.tools.sources import usage_error


@click.command()
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


@click.command()
@click.option("--format", "form", type=click.Choice(["jsonl"]), default="jsonl", show_default=True)
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Which records; all by default.")
@click.option("--schema", is_flag=True, help="Print the JSON schemas of the records instead.")
@click.option("-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of stdout.")
@corpus_option
@json_option
def export(
    form: str, kinds: tuple[str, ...], output: Path | None, corpus: Path | None, *, schema: bool, as_json: bool
) -> None:
    """Print one JSON object a line: tasks with kernels (task), mistakes with diagnostics and fixes (fix)."""
    if schema:
        click.echo(json.dumps({kind: record.model_json_schema() for kind, record in RECORDS.items()}, indent=1))
        return
    with progress(as_json=as_json) as report:
        lines = [record.model_dump_json() for record in corpus_export(kinds or KINDS, report, corpus)]
    text = "".join(f"{line}\n" for line in lines)
    if output is None and not as_json:
        click.echo(text, nl=False)
        return
    try:
        kept = default_store().put(form, text.encode(), path=output)
    except OSError as e:
        raise usage_error("-o", f"`{output}` cannot be written: {e.strerror}") from e
    result = Result(status="ok", summary=f"{len(lines)} records in {kept.path}", artifacts=(kept,))
    finish(result, headline(result), as_json=as_json)


COMMANDS = {"verify": verify, "export": export}
