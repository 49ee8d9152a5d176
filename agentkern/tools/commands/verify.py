"""`agentkern verify FILE[:KERNEL]`."""

from __future__ import annotations

import click

from agentkern.tools.arrays import Number
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
from agentkern.tools.render import verify_report
from agentkern.tools.sources import read_kernel_source, usage_error
from agentkern.tools.verify import VerifyRequest, verify

_CRITERION = """bit_exact, or bound:max_ulp=1,min_equal_share=0.999; by default that of the meta.toml beside REF.py, if
there is one, else bit_exact. Under a bound special inputs are not compared with the reference."""


@click.command()
@kernel_argument
@dim_option
@set_option
@click.option("--reference", metavar="REF.py:FUNC", help="A Python function over torch tensors; it is executed.")
@click.option("--criterion", metavar="TEXT", help=_CRITERION)
@click.option("--level", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@input_option
@target_option
@schedule_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@json_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    target_file: str,
    dims: dict[str, int],
    settings: dict[str, Value],
    reference: str | None,
    criterion: str | None,
    level: str,
    device: str,
    inputs: tuple[dict[str, str], dict[str, Number]],
    target: str,
    schedule: dict[str, object] | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say whether a kernel is right, bit for bit, and by which checks."""
    source = read_kernel_source(target_file)
    files, numbers = inputs
    if files:
        raise usage_error(f"--input {next(iter(files))}", "verify makes its own arrays; give numbers of scalars only")
    request = VerifyRequest.model_validate(
        {
            "source": source.text,
            "path": source.path,
            "kernel": source.kernel,
            "dims": dims,
            "settings": settings,
            "reference": reference,
            "criterion": criterion,
            "level": level,
            "device": device,
            "scalars": numbers,
            "target": target,
            "schedule": schedule,
            "seed": seed,
        }
    )
    with progress(as_json=as_json) as report:
        result = verify(request, report)
    finish(result, verify_report(result, source.text), as_json=as_json)
