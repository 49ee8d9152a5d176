"""`agentkern run FILE[:KERNEL]`."""

from __future__ import annotations

from pathlib import Path

import click

from agentkern.tools.arrays import Number, read_inputs, write_npz
from agentkern.tools.commands.options import (
    Value,
    dim_option,
    input_option,
    json_option,
    kernel_argument,
    schedule_option,
    set_option,
    target_option,
)
from agentkern.tools.commands.terminal import progress
from agentkern.tools.output import finish
from agentkern.tools.render import run_report
from agentkern.tools.requests import RunRequest
from agentkern.tools.results import Artifact
from agentkern.tools.run import preview, run
from agentkern.tools.sources import read_kernel_source


@click.command()
@kernel_argument
@dim_option
@set_option
@input_option
@click.option("--device", type=click.Choice(["cpu", "cuda", "interp"]), default="cpu", show_default=True)
@target_option
@schedule_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of inputs that are not given.")
@click.option("-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the outputs as .npz.")
@json_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    target_file: str,
    dims: dict[str, int],
    settings: dict[str, Value],
    inputs: tuple[dict[str, str], dict[str, Number]],
    device: str,
    target: str,
    schedule: dict[str, object] | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run a kernel once and show or keep its outputs."""
    source = read_kernel_source(target_file)
    files, numbers = inputs
    given = read_inputs(files, numbers)
    request = RunRequest.model_validate(
        {
            "source": source.text,
            "path": source.path,
            "kernel": source.kernel,
            "dims": dims,
            "settings": settings,
            "device": device,
            "target": target,
            "schedule": schedule,
            "seed": seed,
        }
    )
    with progress(as_json=as_json) as report:
        answer = run(request, given, report)
    result = answer.result
    if output is not None and result.status == "ok":
        write_npz(output, answer.outputs)
        kept = Artifact(id=output.name, kind="arrays", bytes=output.stat().st_size, path=str(output))
        result = result.model_copy(update={"artifacts": (kept,)})
    previews = {item.name: preview(item.dtype, answer.outputs[item.name]) for item in result.outputs}
    finish(result, run_report(result, previews, source.text), as_json=as_json)
