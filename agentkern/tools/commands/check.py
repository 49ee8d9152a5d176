"""`agentkern check FILE[:KERNEL]`."""

from __future__ import annotations

import click

from agentkern.tools.check import check
from agentkern.tools.commands.options import Value, dim_option, json_option, kernel_argument, set_option
from agentkern.tools.output import finish
from agentkern.tools.render import check_report
from agentkern.tools.requests import CheckRequest
from agentkern.tools.sources import read_kernel_source


@click.command()
@kernel_argument
@dim_option
@set_option
@json_option
def command(target_file: str, dims: dict[str, int], settings: dict[str, Value], *, as_json: bool) -> None:
    """Find every error of a kernel at once; make no code."""
    source = read_kernel_source(target_file)
    request = CheckRequest(source=source.text, path=source.path, kernel=source.kernel, dims=dims, settings=settings)
    result = check(request)
    finish(result, check_report(result, source.text), as_json=as_json)
