"""How many blocks a launch has, held to what hardware runs."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.abi import Launch
from agentkern.compiler.ir.dims import evaluate
from agentkern.runtime.call_errors import CallError

MAX_BLOCKS = 2**31 - 1
"""Of a one-dimensional grid: CUDA C++ Programming Guide, table of compute capabilities."""


def blocks_of(launch: Launch, sizes: Mapping[str, int]) -> int:
    """Return the number of blocks, 0 for no launch. Errors: AK714 past what a grid can have."""
    blocks = evaluate(launch.blocks, sizes)
    if blocks > MAX_BLOCKS:
        raise CallError("AK714", name=launch.function, blocks=blocks, limit=MAX_BLOCKS)
    return blocks
