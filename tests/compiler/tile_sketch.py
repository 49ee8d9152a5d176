"""Build small TILE kernels for tests: sizes, tensors, one or several grids, loads, stores, index arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, SizeInfo, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.subscripts import subscript_shape
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.dsl.dtypes import DTYPES

I64 = TileType(DTYPES["i64"])
Entry = "Value | str | int"


def extent(text: str | int) -> int | Dim:
    """An extent from its text."""
    return text if isinstance(text, int) else dims.parse(text)


class Sketch:
    """A kernel under construction."""

    def __init__(self, *sizes: str | SizeInfo) -> None:
        self.sizes = tuple(s if isinstance(s, SizeInfo) else SizeInfo(s) for s in sizes)
        self.params: list[Value] = []
        self.builder = Builder(TILE_OPS)
        self.outer: list[Builder] = []
        self.line = 0

    def tensor(self, name: str, access: str, *shape: str | int, dtype: str = "f32") -> Value:
        """A tensor parameter."""
        value = Value(TensorType(DTYPES[dtype], tuple(map(extent, shape)), access), name)
        self.params.append(value)
        return value

    def scalar(self, name: str, dtype: str = "i64") -> Value:
        """A run-time scalar parameter."""
        value = Value(TileType(DTYPES[dtype]), name)
        self.params.append(value)
        return value

    @contextmanager
    def grid(self, *axes: str | int | tuple[str | int, int | None], names: str = "thij") -> Iterator[list[Value]]:
        """A grid over extents, each alone or with its written block; yields the block variables."""
        blocks: list[Value] = []
        for name, axis in zip(names, axes, strict=False):
            over, size = axis if isinstance(axis, tuple) else (axis, None)
            blocks.append(Value(BlockType(f"%{name}", extent(over), size), name))
        self.outer.append(self.builder)
        self.builder = self.builder.nested()
        yield blocks
        region = Region(tuple(blocks), tuple(self.builder.ops))
        self.builder = self.outer.pop()
        self.builder.emit("grid", regions=(region,))

    def op(self, name: str, *operands: Value, type_: TileType = I64, **attrs: object) -> Value:
        """An operation with one result."""
        return self.builder.value(name, operands, type_, attrs)

    def number(self, value: int) -> Value:
        """An integer scalar."""
        return self.op("constant", value=value)

    def size(self, text: str) -> Value:
        """An extent as a scalar."""
        return self.op("size", extent=extent(text))

    def _subscript(self, entries: tuple[Entry, ...]) -> tuple[tuple[str, ...], tuple[Value, ...]]:
        index: list[str] = []
        operands: list[Value] = []
        for entry in entries:
            if isinstance(entry, str):
                index.append(entry)
                continue
            index.append(f"${len(operands)}")
            operands.append(self.number(entry) if isinstance(entry, int) else entry)
        return tuple(index), tuple(operands)

    def load(self, tensor: Value, *entries: Entry) -> Value:
        """Read a tile."""
        index, operands = self._subscript(entries)
        self._next_line()
        assert isinstance(tensor.type, TensorType)
        shape = subscript_shape(tensor.type, index, tuple(v.type for v in operands))
        return self.builder.value("load", (tensor, *operands), TileType(tensor.type.dtype, shape), {"index": index})

    def store(self, tensor: Value, *entries: Entry) -> None:
        """Write a tile of zeros."""
        index, operands = self._subscript(entries)
        assert isinstance(tensor.type, TensorType)
        dtype = tensor.type.dtype
        shape = subscript_shape(tensor.type, index, tuple(v.type for v in operands))
        zero = self.op("constant", type_=TileType(dtype), value=0.0 if dtype.is_float else 0)
        if shape:
            zero = self.op("broadcast", zero, type_=TileType(dtype, shape))
        self._next_line()
        self.builder.emit("store", (tensor, zero, *operands), attrs={"index": index})

    def _next_line(self) -> None:
        self.line += 1
        self.builder.location = (self.line, 1, self.line, 10)

    def done(self) -> Kernel:
        """The kernel, verified."""
        kernel = Kernel("sketch", "tile", tuple(self.params), tuple(self.builder.ops), self.sizes)
        verify_kernel(kernel)
        return kernel

    @property
    def last(self) -> Op:
        """The operation made last."""
        return self.builder.ops[-1]
