"""Loops of the language. The front end reads them; in plain Python they cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from agentkern.dsl.dtypes import DType
from agentkern.dsl.sizes import Size
from agentkern.dsl.stub import not_executed


class Scratch:
    """What `ak.scratch` gives: a tensor that lives for one call."""


class Each:
    """What `ak.each` gives to `ak.grid`."""


class Parts:
    """What `ak.parts` gives to `ak.grid`."""


def each(*bounds: object) -> Each:
    """One scalar index at a time: `ak.each(B)` gives 0 to B - 1, `ak.each(lo, hi)` lo to hi - 1."""
    raise not_executed("each")


def parts(extent: Size | int, count: Size | int | None = None, *, block: int | None = None) -> Parts:
    """A range in pieces: `count` of equal length but for one, or each of `block` indices but for the last.

    Piece p of `count` is `p * N // count` to `(p + 1) * N // count`; `.ordinal`, `.start`, `.end` are its numbers.
    """
    raise not_executed("parts")


class Segments:
    """What `ak.segments` gives to `ak.grid`."""

    def blocks(self, *, block: int | None = None) -> Segments:
        """Pairs `(s, m)` of a segment and a block of its rows: `for (s, m), n in ak.grid(....blocks(), N):`.

        A block never crosses a segment; an empty segment has none. `block` fixes its size.
        """
        raise not_executed("segments")


def segments(offsets: object) -> Segments:
    """The segments of a ragged tensor: the indices `offsets[s]` to `offsets[s + 1] - 1` for each s.

    `offsets` is a parameter that promises them: `ak.In[ak.i32, E + 1].offsets(T)`. The variable subscripts the whole
    segment, however long, an empty one too; `.ordinal`, `.start`, `.end` are its numbers.
    """
    raise not_executed("segments")


def scratch(shape: object, dtype: DType) -> Scratch:
    """Memory between the grids of a call: `part = ak.scratch((8, H), ak.f32)`; a grid sees what earlier ones wrote."""
    raise not_executed("scratch")


def grid(
    *extents: Size | int | Each | Parts | Segments, block: int | tuple[int | None, ...] | None = None
) -> Iterator[object]:
    """Independent blocks of indices, in any order; one name per extent.

    `block` fixes a block's size where the program needs it; `None` leaves it to the compiler. `ak.grid()` is one block.
    """
    raise not_executed("grid")


def steps(*bounds: object, block: int | None = None) -> Iterator[object]:
    """Blocks of `steps(N)` or `steps(lo, hi)` in order, inside a grid: names that are rebound keep their values.

    `block` fixes a step's size where it is part of the answer. Bounds may be integer scalars of the run.
    """
    raise not_executed("steps")


def elements(*extents: object) -> Iterator[object]:
    """Every element of a tile at once: `for i, j in ak.elements(m, n): p[i, j] = ak.exp(s[i, j] - top[i])`."""
    raise not_executed("elements")
