"""`agentkern profile FILE[:KERNEL]`."""

from __future__ import annotations

from pathlib import Path

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
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.render import profile_report
from agentkern.tools.sources import read_kernel_source, split_target, usage_error

_WAYS = ("torch", "torch.compile")


@click.command()
@kernel_argument
@dim_option
@set_option
@click.option("--against", multiple=True, metavar="torch|torch.compile|FILE.py", help="Rivals; repeat for more.")
@input_option
@target_option
@schedule_option
@click.option("--seconds", type=click.FloatRange(min=0.1, max=300), default=10.0, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@json_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    target_file: str,
    dims: dict[str, int],
    settings: dict[str, Value],
    against: tuple[str, ...],
    inputs: tuple[dict[str, str], dict[str, Number]],
    target: str,
    schedule: dict[str, object] | None,
    seconds: float,
    seed: int,
    as_json: bool,
) -> None:
    """Time a kernel on the GPU against its floor and rivals; without a GPU, say the floor.

    `torch` and `torch.compile` time the function of the kernel's name in FILE.py, or in `peers.py` beside the kernel.
    """
    source = read_kernel_source(target_file)
    ways, peers = _rivals(against, split_target(target_file)[0])
    _, numbers = inputs
    request = ProfileRequest.model_validate(
        {
            "source": source.text,
            "path": source.path,
            "kernel": source.kernel,
            "dims": dims,
            "settings": settings,
            "against": ways,
            "peers": str(peers) if peers is not None else None,
            "scalars": numbers,
            "target": target,
            "schedule": schedule,
            "seconds": seconds,
            "seed": seed,
        }
    )
    with progress(as_json=as_json) as report:
        result = profile(request, report)
    finish(result, profile_report(result, source.text), as_json=as_json)


def _rivals(against: tuple[str, ...], kernel_file: Path) -> tuple[tuple[str, ...], Path | None]:
    """Which ways to run the peers' function, and the file that has it."""
    ways = tuple(dict.fromkeys(name for name in against if name in _WAYS))
    files = [Path(name) for name in against if name not in _WAYS]
    if len(files) > 1:
        raise usage_error("--against", "give one file of peers")
    if not against:
        return (), None
    peers = files[0] if files else kernel_file.parent / "peers.py"
    if not peers.is_file():
        raise usage_error("--against", f"there is no file `{peers}` with a torch function of the kernel's name")
    return ways or ("torch",), peers
