"""`agentkern corpus list`, `search` and `show`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from agentkern.tools.commands.options import corpus_option, json_option
from agentkern.tools.corpus_search import DEFAULT_LIMIT, MAX_LIMIT, Filters, corpus_list, corpus_search, corpus_show
from agentkern.tools.output import finish
from agentkern.tools.render import corpus_list_report, corpus_search_report, corpus_show_report

_FILTERS = (
    click.option("--family", help="A folder of the corpus, such as `norm`."),
    click.option("--dtype", help="A dtype of a tensor, such as `bf16`."),
    click.option("--feature", help="What the kernel uses, such as `reduction`, `gather`, `carried loop`."),
    click.option("--signature", help="What its tensors are like: `In[bf16, T, H] -> Out[e4m3, T, H]`, or a kernel."),
)


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--family --dtype --feature --signature`: what a kernel must have."""
    for option in reversed(_FILTERS):
        function = option(function)
    return function


@click.command("list")
@filter_options
@click.option("--limit", type=click.IntRange(min=1), help="How many; all by default.")
@corpus_option
@json_option
def list_kernels(limit: int | None, corpus: Path | None, *, as_json: bool, **filters: str | None) -> None:
    """Name every kernel, or those that have what is asked for."""
    result = corpus_list(_filters(filters), limit, corpus)
    finish(result, corpus_list_report(result), as_json=as_json)


@click.command()
@click.argument("text", nargs=-1, required=True)
@filter_options
@click.option("--limit", type=click.IntRange(1, MAX_LIMIT), default=DEFAULT_LIMIT, show_default=True, help="How many.")
@corpus_option
@json_option
def search(text: tuple[str, ...], limit: int, corpus: Path | None, *, as_json: bool, **filters: str | None) -> None:
    """Find the kernels that answer TEXT best: words of the task, a signature, or a kernel."""
    result = corpus_search(" ".join(text), _filters(filters), limit, corpus)
    finish(result, corpus_search_report(result), as_json=as_json)


@click.command()
@click.argument("name")
@corpus_option
@json_option
def show(name: str, corpus: Path | None, *, as_json: bool) -> None:
    """Show a kernel with its text, notes, shapes, criterion and record."""
    result = corpus_show(name, corpus)
    finish(result, corpus_show_report(result), as_json=as_json)


def _filters(given: dict[str, str | None]) -> Filters:
    return Filters(given["family"], given["dtype"], given["feature"], given["signature"])


COMMANDS = {"list": list_kernels, "search": search, "show": show}
