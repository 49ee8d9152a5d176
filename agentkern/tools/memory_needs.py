"""How much memory a call needs at some sizes, told before any of it is taken: tensors as they lie, and values whole."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, walk
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.runtime.layouts import contiguous, span


class NotEnoughMemory(MemoryError):
    """What is asked for does not fit in this machine's memory."""


def check_tensors(params: Iterable[TensorParam], sizes: Mapping[str, int]) -> None:
    """Refuse tensors beyond the machine's memory. Errors: NotEnoughMemory."""
    _refuse(sum(_bytes_of(param, sizes) for param in params), "the tensors need")


def check_values(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """Refuse a TILE kernel with a value that, held whole, is beyond the machine's memory. Errors: NotEnoughMemory."""
    _refuse(max(_value_bytes(kernel, sizes), default=0), "a value of one block needs")


def _refuse(needed: int, what: str) -> None:
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise NotEnoughMemory(f"{what} {needed / 2**30:.1f} GiB, this machine has {there / 2**30:.1f} GiB")


def _bytes_of(param: TensorParam, sizes: Mapping[str, int]) -> int:
    shape = tuple(dims.evaluate(extent, sizes) for extent in param.shape)
    given = contiguous(shape) if param.strides is None else tuple(dims.evaluate(s, sizes) for s in param.strides)
    return span(shape, given) * param.dtype.nbytes


def _value_bytes(kernel: Kernel, sizes: Mapping[str, int]) -> Iterator[int]:
    """Bytes of each value, of blocks that the compiler sizes one index; those of unknown extent are left out."""
    ops = tuple(walk(kernel.body))
    blocks = [arg.type for op in ops for region in op.regions for arg in region.args if isinstance(arg.type, BlockType)]
    known = {**sizes, **{block.name: block.block or 1 for block in blocks}}
    for op in ops:
        for value in op.results:
            if not isinstance(value.type, TileType):
                continue
            if all(known.keys() >= set(_names(extent)) for extent in value.type.shape):
                yield math.prod(dims.evaluate(e, known) for e in value.type.shape) * value.type.dtype.nbytes


def _names(extent: int | dims.Dim) -> tuple[str, ...]:
    return () if isinstance(extent, int) else dims.symbols(extent)
