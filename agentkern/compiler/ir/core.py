"""The IR's data: values, operations, regions, kernels; and the builder.

Operations are plain slotted objects made once and never changed: a pass returns new ones. Every operation names its
row in the operation table (`OpSpec`), which the verifier, printer, parser and interpreter read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["tile", "placed", "gpu"]
Location = tuple[int, int, int, int]
AttrValue = "int | float | str | bool | None | Dim | tuple[AttrValue, ...]"


class Value:
    """One SSA value: its type and the source name that it came from, if any."""

    __slots__ = ("name", "type")

    def __init__(self, type_: object, name: str | None = None) -> None:
        self.type = type_
        self.name = name

    def __repr__(self) -> str:
        return f"Value({self.name or '_'}: {self.type})"


class Op:
    """One operation. `location` is (line, column, end line, end column) in the kernel's text."""

    __slots__ = ("attrs", "location", "operands", "regions", "results", "spec")

    def __init__(
        self,
        spec: OpSpec,
        operands: tuple[Value, ...] = (),
        attrs: Mapping[str, object] | None = None,
        results: tuple[Value, ...] = (),
        regions: tuple[Region, ...] = (),
        location: Location | None = None,
    ) -> None:
        self.spec = spec
        self.operands = operands
        self.attrs: Mapping[str, object] = attrs if attrs is not None else _NO_ATTRS
        self.results = results
        self.regions = regions
        self.location = location

    @property
    def name(self) -> str:
        """The operation's name in the table."""
        return self.spec.name

    @property
    def result(self) -> Value:
        """The only result."""
        return self.results[0]

    def __repr__(self) -> str:
        return f"Op({self.spec.name})"


_NO_ATTRS: Mapping[str, object] = {}


class Region:
    """A list of operations with arguments, as the body of a kernel, grid or loop."""

    __slots__ = ("args", "ops")

    def __init__(self, args: tuple[Value, ...], ops: tuple[Op, ...]) -> None:
        self.args = args
        self.ops = ops


VerifyRule = Callable[[Op], str | None]


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One row of an operation table.

    `operands` is the number of operands, or None for any. `attrs` maps each permitted attribute to whether it must be
    present. `rule` returns what is wrong with an operation, or None. Traits: `elementwise` (one result, operands and
    result of one shape), `arithmetic` (a NaN result is canonical), `reads`, `writes` (global memory), `move` (keeps
    bits).
    """

    name: str
    stages: frozenset[Stage]
    operands: int | None
    results: int = 1
    attrs: Mapping[str, bool] = field(default_factory=dict)
    regions: int = 0
    traits: frozenset[str] = frozenset()
    rule: VerifyRule | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class SizeInfo:
    """A named size of a kernel: its promises. `value` is set once a static size has its number."""

    name: str
    static: bool = False
    multiple_of: int = 1
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel in any stage. `params` are values whose types are tensors or scalars; `attrs` are stage data."""

    name: str
    stage: Stage
    params: tuple[Value, ...]
    body: tuple[Op, ...]
    sizes: tuple[SizeInfo, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=dict)

    def size(self, name: str) -> SizeInfo:
        """The named size. Errors: KeyError for an unknown name."""
        for size in self.sizes:
            if size.name == name:
                return size
        raise KeyError(name)


def walk(ops: Sequence[Op]) -> Iterator[Op]:
    """Every operation, outer before inner, in order."""
    for op in ops:
        yield op
        for region in op.regions:
            yield from walk(region.ops)


class Builder:
    """Collects operations of one region; nested regions get builders of their own."""

    __slots__ = ("location", "ops", "table")

    def __init__(self, table: Mapping[str, OpSpec]) -> None:
        self.table = table
        self.ops: list[Op] = []
        self.location: Location | None = None

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...] = (),
        types: tuple[object, ...] = (),
        attrs: Mapping[str, object] | None = None,
        regions: tuple[Region, ...] = (),
        result_name: str | None = None,
    ) -> tuple[Value, ...]:
        """Append an operation and return its results."""
        results = tuple(Value(t, result_name) for t in types)
        self.ops.append(Op(self.table[name], operands, attrs, results, regions, self.location))
        return results

    def value(
        self,
        name: str,
        operands: tuple[Value, ...],
        type_: object,
        attrs: Mapping[str, object] | None = None,
        result_name: str | None = None,
    ) -> Value:
        """Append an operation with one result and return it."""
        result = Value(type_, result_name)
        self.ops.append(Op(self.table[name], operands, attrs, (result,), (), self.location))
        return result

    def nested(self) -> Builder:
        """A builder for a region, at the same source location."""
        inner = Builder(self.table)
        inner.location = self.location
        return inner
