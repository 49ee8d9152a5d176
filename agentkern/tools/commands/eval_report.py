"""`agentkern eval report`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from agentkern.tools.commands.eval_options import of_run
from agentkern.tools.commands.options import json_option
from agentkern.tools.output import finish
from agentkern.tools.render import headline
from agentkern.tools.results import Result
from agentkern.tools.sources import usage_error

_RUN = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN ...", type=_RUN)
@click.option(
    "-o",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page's file; by default report.html in the folder RUN, the first of several.",
)
@json_option
def command(runs: tuple[Path, ...], output: Path | None, *, as_json: bool) -> None:
    """Write one page about one run or several: scores with intervals, curves, every sample. Needs no network."""
    try:
        # the page's templates are read by a package of the extra `evals`
        page: Any = importlib.import_module("agentkern.evals.report")
    except ModuleNotFoundError as e:
        why = f"the page is made with the package `{e.name}`, which is not installed; `pip install 'agentkern[evals]'`"
        missing = Result(status="unavailable", summary=why)
        finish(missing, headline(missing), as_json=as_json)
    text: str = of_run(lambda: page.report_page(runs))
    output = output or runs[0] / "report.html"
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as e:
        raise usage_error("-o", f"`{output}` cannot be written: {e.strerror}") from e
    result = Result(status="ok", summary=f"{len(text.encode())} bytes in {output}; next: open it in a browser")
    finish(result, headline(result), as_json=as_json)
