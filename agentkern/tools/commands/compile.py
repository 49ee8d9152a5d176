"""`agentkern compile FILE[:KERNEL]`."""

from __future__ import annotations

from pathlib import Path

import click

from agentkern.tools.commands.options import (
    Value,
    dim_option,
    json_option,
    schedule_option,
    set_option,
    target_option,
)
from agentkern.tools.commands.terminal import progress
from agentkern.tools.compile import compile as compile_kernel
from agentkern.tools.output import finish
from agentkern.tools.render import compile_report
from agentkern.tools.requests import EMITS, CompileRequest
from agentkern.tools.sources import KernelSource, read_kernel_source, read_text, usage_error


@click.command()
@click.argument("target_file", metavar="[FILE[:KERNEL]]", required=False)
@target_option
@dim_option
@set_option
@schedule_option
@click.option(
    "--from", "ir_file", type=click.Path(path_type=Path), metavar="FILE.ir", help="Start from IR text of any stage."
)
@click.option("--stop-after", metavar="PASS", help="Stop after this pass; its text is emitted as `ir`.")
@click.option("--numerics", type=click.Choice(["portable", "nvcc", "fast"]), default="portable", show_default=True)
@click.option("--emit", multiple=True, type=click.Choice(EMITS), help="Texts to show or keep; repeat for more.")
@click.option("-o", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write artifacts to this folder.")
@json_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    target_file: str | None,
    target: str,
    dims: dict[str, int],
    settings: dict[str, Value],
    schedule: dict[str, object] | None,
    ir_file: Path | None,
    stop_after: str | None,
    numerics: str,
    emit: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Compile a kernel to CUDA and a cubin; no GPU needed.

    Without -o and --json, emitted texts go to stdout and the report to stderr.
    """
    source = _source(target_file, ir_file)
    request = CompileRequest.model_validate(
        {
            "source": source.text,
            "path": source.path,
            "kernel": source.kernel,
            "dims": dims,
            "settings": settings,
            "target": target,
            "numerics": numerics,
            "schedule": schedule,
            "is_ir": ir_file is not None,
            "stop_after": stop_after,
            "emit": emit,
        }
    )
    with progress(as_json=as_json) as report:
        answer = compile_kernel(request, report, folder)
    shown = compile_report(answer.result, source.text)
    if answer.texts and not as_json and folder is None:
        click.echo(shown, err=True)
        shown = "\n".join(answer.texts.values())
    finish(answer.result, shown, as_json=as_json)


def _source(target_file: str | None, ir_file: Path | None) -> KernelSource:
    if (target_file is None) == (ir_file is None):
        has_both = target_file is not None
        raise usage_error("compile", f"give a kernel file or --from with an IR text{', not both' if has_both else ''}")
    if ir_file is not None:
        return KernelSource(read_text(ir_file), str(ir_file), None)
    assert target_file is not None
    return read_kernel_source(target_file)
