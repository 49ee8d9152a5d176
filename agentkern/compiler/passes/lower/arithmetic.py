"""Integer expressions of a thread, folded where numbers are known. An index is an `int` or a scalar value."""

from __future__ import annotations

from agentkern.compiler.ir.core import Builder, Value
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES

I32 = TileType(DTYPES["i32"])
I64 = TileType(DTYPES["i64"])
BOOL = TileType(DTYPES["bool"])

Index = "int | Value"


class IndexBuilder:
    """Emits i32 and i64 arithmetic into the builder of the moment, folding constants."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def constant(self, number: int, type_: TileType = I32) -> Value:
        """A number as a value."""
        return self.builder.value("constant", (), type_, {"value": number})

    def value(self, index: int | Value, type_: TileType = I32) -> Value:
        """An index as a value of a type, widened if need be."""
        if isinstance(index, int):
            return self.constant(index, type_)
        if index.type == type_:
            return index
        return self.builder.value("cast", (index,), type_, None, index.name)

    def _type(self, a: int | Value, b: int | Value) -> TileType:
        return I64 if any(isinstance(x, Value) and x.type == I64 for x in (a, b)) else I32

    def _emit(self, name: str, a: int | Value, b: int | Value, result: str | None) -> Value:
        type_ = self._type(a, b)
        return self.builder.value(name, (self.value(a, type_), self.value(b, type_)), type_, None, result)

    def add(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """`a + b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        if b == 0:
            return a
        return self._emit("index_add", a, b, name)

    def subtract(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """`a - b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._emit("index_sub", a, b, name)

    def multiply(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """`a * b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        if b == 1:
            return a
        return self._emit("index_mul", a, b, name)

    def quotient(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """`a / b` of numbers that are not negative."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return a if b == 1 else self._emit("quotient", a, b, name)

    def remainder(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """`a % b` of numbers that are not negative."""
        if isinstance(a, int) and isinstance(b, int):
            return a % b
        return 0 if b == 1 else self._emit("remainder", a, b, name)

    def bits(self, a: int | Value, shift: int, count: int) -> int | Value:
        """`(a >> shift) & (count - 1)` for a power of two `count`."""
        if isinstance(a, int):
            return (a >> shift) & (count - 1)
        shifted = a if shift == 0 else self._emit("index_shr", a, shift, None)
        return self._emit("index_and", shifted, count - 1, None)

    def minimum(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """The smaller one."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._emit("minimum", a, b, name)

    def maximum(self, a: int | Value, b: int | Value, name: str | None = None) -> int | Value:
        """The larger one."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._emit("maximum", a, b, name)

    def compare(self, relation: str, a: int | Value, b: int | Value) -> Value:
        """`lt`, `le`, `eq`, ... as a bool."""
        type_ = self._type(a, b)
        return self.builder.value(relation, (self.value(a, type_), self.value(b, type_)), BOOL)

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        """Conjunction; None is true."""
        if a is None or b is None:
            return a if b is None else b
        return self.builder.value("and", (a, b), BOOL)
