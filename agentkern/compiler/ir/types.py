"""Types of IR values. Data only.

A tile is an immutable array value; a scalar is a tile of rank 0. A tensor is an array in global memory. A block is one
grid axis' current block of indices. Types of the GPU stage stand in `gpu_types.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.dsl.dtypes import DType

MAX_LIST = 1024
"""Tensors of one list: each is an argument."""
Access = Literal["in", "out", "inout", "scratch"]


@dataclass(frozen=True, slots=True)
class TileType:
    """An array value: element type and extents. `layout` is None until the PLACED stage names one."""

    dtype: DType
    shape: tuple[int | Dim, ...] = ()
    layout: str | None = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def with_shape(self, shape: tuple[int | Dim, ...]) -> TileType:
        """The same element type over other extents."""
        return TileType(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> TileType:
        """The same extents of another element type."""
        return TileType(dtype, self.shape)

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype.name if self.layout is None else f"{self.dtype.name}<{self.layout}>"
        layout = f", {self.layout}" if self.layout is not None else ""
        return f"tile<{self.dtype.name}, [{', '.join(map(str, self.shape))}]{layout}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """An array in global memory, contiguous unless the launch says otherwise.

    `strides`, in elements, are prescribed for every call; the first element's address is a multiple of `aligned` bytes.
    A `table` is a list of tensors that a run-time number picks from: the leading axis counts them, and each has memory,
    strides and an address of its own. Nothing lies between them: the leading stride means nothing.
    """

    dtype: DType
    shape: tuple[int | Dim, ...]
    access: Access
    strides: tuple[int | Dim, ...] | None = None
    aligned: int = 1
    table: bool = False

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def count(self) -> int:
        """How many tensors a table has."""
        found = self.shape[0] if self.table and self.shape else 0
        return found if isinstance(found, int) else 0

    @property
    def entry(self) -> TensorType:
        """The type of each tensor of a table; a tensor's own."""
        if not self.table:
            return self
        strides = None if self.strides is None else self.strides[1:]
        return TensorType(self.dtype, self.shape[1:], self.access, strides, self.aligned)

    def __str__(self) -> str:
        layout = ""
        if self.strides is not None or self.aligned > 1:
            layout = ", none" if self.strides is None else f", [{', '.join(map(str, self.strides))}]"
            layout += f", {self.aligned}" if self.aligned > 1 else ""
        table = "table " if self.table else ""
        return f"{table}{self.access}<{self.dtype.name}, [{', '.join(map(str, self.shape))}]{layout}>"


@dataclass(frozen=True, slots=True)
class BlockType:
    """One grid axis or loop: the indices `first` to `extent - 1` in blocks of `block` (None: the compiler's choice).

    `name` is the symbol of the current block's extent, with its `%`. The last block may be shorter. One that `is_whole`
    is all of an axis whose length the run gives, also where that is 0: never more than `block`, which fixes no order.
    """

    name: str
    extent: int | Dim
    block: int | None = None
    first: int | Dim = 0
    is_whole: bool = False

    @property
    def written(self) -> int | None:
        """The block's size where the program says it: what decides orders."""
        return None if self.is_whole else self.block

    @property
    def length(self) -> int | Dim:
        """How many indices there are, if not fewer than none."""
        return dims.add(self.extent, dims.mul(self.first, -1))

    @property
    def current(self) -> int | Dim:
        """The extent of the current block, as a tile axis: one that is never clipped is a number."""
        length = self.length
        if self.written is not None and isinstance(length, int) and length % self.written == 0 and length > 0:
            return self.written
        return dims.symbol(self.name)

    def __str__(self) -> str:
        block = f", {self.block}" if self.block is not None else ", none" if self.first != 0 else ""
        first = f", {self.first}" if self.first != 0 or self.is_whole else ""
        whole = ", whole" if self.is_whole else ""
        return f"block<{self.name}, {self.extent}{block}{first}{whole}>"


def entry_names(name: str, type_: TensorType) -> tuple[str, ...]:
    """The names of a parameter's tensors: of a table its entries', else its own."""
    return tuple(f"{name}[{k}]" for k in range(type_.count)) if type_.table else (name,)


IrType = TileType | TensorType | BlockType
