"""What an interpreted operation sees: values by identity, extents by name, the current block of each grid axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Location, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.interpreter_orders import Orders
from agentkern.compiler.ir.reference_formats import Raw


class InterpreterError(ValueError):
    """A kernel or its arguments ask for what has no meaning: a missing tensor, an index out of range."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.location = location


@dataclass(frozen=True, slots=True)
class Block:
    """The current block of a grid axis: its first index, one past its last, its number from 0."""

    start: int
    stop: int
    ordinal: int


Datum = Raw | Block


@dataclass(frozen=True, slots=True)
class Frame:
    """What an operation sees: values by identity, extents by name, and the extents that fix orders.

    `scattered` holds the elements that stores of the running grid have written through tiles of indices, by store;
    `carried` the totals so far of scans that a stream runs chunk by chunk, by scan; `orders`, where it is asked for,
    what depends on the order of threads.
    """

    values: dict[int, Datum]
    sizes: dict[str, int]
    static: dict[str, int]
    free_block: int | None
    scattered: dict[int, Raw] = field(default_factory=dict[int, Raw])
    carried: dict[int, Raw] = field(default_factory=dict[int, Raw])
    orders: Orders | None = None

    def array(self, value: Value) -> Raw:
        """Return the array that a tile or tensor value has."""
        found = self.values[id(value)]
        assert not isinstance(found, Block)
        return found

    def block(self, value: Value) -> Block:
        """Return the current block of a block value."""
        found = self.values[id(value)]
        assert isinstance(found, Block)
        return found

    def shape(self, extents: Sequence[int | Dim]) -> tuple[int, ...]:
        """Return the extents as numbers."""
        return tuple(e if isinstance(e, int) else dims.evaluate(e, self.sizes) for e in extents)

    def static_extent(self, extent: int | Dim) -> int | None:
        """Return what a reduction's order sees: a number in the type, a written block's size, or None."""
        if isinstance(extent, int):
            return extent
        known = dims.substitute(extent, self.static)
        return known if isinstance(known, int) else None
