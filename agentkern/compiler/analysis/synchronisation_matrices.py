"""Where boxes of tensor copies and operands of warpgroup products lie in shared memory, in pieces of 16 bytes.

Addresses are those of the hardware: a swizzle is an exclusive or on the bits of the whole address. Source: PTX ISA,
"Shared memory matrix layout" and "Swizzling modes". No operations are judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.gpu_async_ops import WGMMA_NAME
from agentkern.compiler.ir.gpu_types import TensorMap

Pieces = NDArray[np.int64]
PIECE_BYTES = 16
STEP_BYTES = 32
"""Bytes of K that every product step takes."""
# Address bits from 4 on that take the exclusive or with those from 7 on, by the width in bytes; written down here and
# not taken from `layout`, so that a mistake there shows.
_BITS = {0: 0, 32: 1, 64: 2, 128: 3}


def _swizzled(address: Pieces, span: int) -> Pieces:
    bits = _BITS[span]
    return address ^ ((address >> 7 & (1 << bits) - 1) << 4)


def repeat_bytes(span: int) -> int:
    """The pattern's period, to which boxes and matrices are aligned."""
    return 8 * span or 128


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Pieces of a matrix: their addresses over 16, the row (or k) and the piece along a row of each.

    One object stands for one layout.
    """

    at: Pieces
    row: Pieces
    column: Pieces


@lru_cache(maxsize=512)
def box_layout(map_: TensorMap, start: int) -> Layout:
    """The pieces that a copy of one box writes or reads, `start` in bytes; rows of a box are all its outer axes."""
    width = map_.box[-1] * map_.dtype.nbytes // PIECE_BYTES
    rows = prod(map_.box[:-1])
    row, column = (a.ravel() for a in np.meshgrid(np.arange(rows), np.arange(width), indexing="ij"))
    plain = start + (row * width + column) * PIECE_BYTES
    return Layout(_swizzled(plain, map_.swizzle) // PIECE_BYTES, row, column)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand in shared memory: `rows` along M or N, `k` elements of `nbytes`; which of them is contiguous."""

    rows: int
    k: int
    nbytes: int
    k_major: bool


@lru_cache(maxsize=256)
def operands_of(instruction: str) -> tuple[Operand | None, Operand]:
    """A (None: in registers) and B of a product step."""
    match = WGMMA_NAME.match(instruction)
    assert match is not None
    k = int(match[2])
    nbytes = STEP_BYTES // k
    a = None if match[5] == "rs" else Operand(64, k, nbytes, k_major=match[6] is None)
    return a, Operand(int(match[1]), k, nbytes, k_major=match[7] is None)


@lru_cache(maxsize=4096)
def matrix_layout(operand: Operand, start: int, leading: int, stride: int, span: int) -> Layout:
    """The pieces that a product reads through a descriptor.

    For a K-major operand `row` counts M or N and `column` pieces along K; for an MN-major one `row` counts K and
    `column` pieces along M or N, so that a row of the box that was copied is a row here.
    """
    if operand.k_major:
        width = operand.k * operand.nbytes // PIECE_BYTES
        row, column = (a.ravel() for a in np.meshgrid(np.arange(operand.rows), np.arange(width), indexing="ij"))
        if span:
            plain = start + row // 8 * stride + row % 8 * span + column * PIECE_BYTES
        else:
            plain = start + row // 8 * stride + row % 8 * PIECE_BYTES + column * leading
    else:
        width = operand.rows * operand.nbytes // PIECE_BYTES
        row, column = (a.ravel() for a in np.meshgrid(np.arange(operand.k), np.arange(width), indexing="ij"))
        across = span // PIECE_BYTES or 1
        block, inside = column // across, column % across
        if span:
            plain = start + block * leading + row // 8 * stride + row % 8 * span + inside * PIECE_BYTES
        else:
            plain = start + block * stride + row // 8 * leading + row % 8 * PIECE_BYTES
    return Layout(_swizzled(plain, span) // PIECE_BYTES, row, column)


def descriptor_layout(operand: Operand, descriptor: Op, start: int) -> Layout:
    """The pieces behind a `descriptor` operation at a start address."""
    leading, stride, span = (descriptor.attrs[name] for name in ("leading", "stride", "swizzle"))
    assert isinstance(leading, int) and isinstance(stride, int) and isinstance(span, int)
    return matrix_layout(operand, start, leading, stride, span)
