"""Grids: what they run over, and the region that each opens."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace

from tests.properties.grammar.scope import Axis, Draft, Scope

WRITTEN = (1, 3, 8, 32, 40, 100, 128)
MOST_BLOCKS = 1000
MOST_COLUMNS = 8193
"""That blocks share out: longer rows are walked, and would be tens of thousands of blocks for the simulator."""
Form = Callable[[], tuple[str, Scope]]


def grid(draft: Draft, *, long: bool) -> tuple[str, Scope]:
    """A grid's header and scope."""
    rng, sizes = draft.rng, draft.sizes
    whole, rows = draft.whole("H"), draft.whole("T")
    block_t = Axis("t", "T", "t", sizes["T"], reducible=False, block=True)
    block_h = Axis("h", "H", "h", sizes["H"], reducible=False, block=True)
    block_b = Axis("b", "B", "b", sizes["B"], reducible=False, block=True)
    scope = functools.partial(Scope, draft)
    forms: tuple[Form, ...] = (
        lambda: ("for t in ak.grid(T):", scope((block_t,))),
        lambda: ("for t in ak.grid(T):", scope((block_t, whole))),
        lambda: ("for t in ak.grid(T):", scope((block_t, whole))),
        lambda: _written(draft, block_t, block_h),
        lambda: _written(draft, block_t, block_h),
        lambda: ("for h in ak.grid(H):", scope((rows, block_h))),
        lambda: ("for b, t in ak.grid(B, T):", scope((block_b, block_t, whole))),
        lambda: ("for b, t in ak.grid(ak.each(B), T):", scope((block_t, whole), (("b", "B"),))),
        lambda: ("for _ in ak.grid():", scope((rows, whole))),
        lambda: ("for t in ak.grid(ak.each(T)):", scope((whole,), (("t", "T"),))),
        lambda: _pieces(draft, block_t),
        lambda: _pieces(draft, block_t),
        lambda: ("for b, t in ak.grid(ak.each(B), ak.each(T)):", scope((), (("b", "B"), ("t", "T")))),
        lambda: ("for e, t in ak.grid(ak.each(L), T):", scope((block_t, whole), (("e", "L"),))),
        lambda: ("for e, h in ak.grid(ak.each(L), H):", scope((block_h,), (("e", "L"),))),
        lambda: ("for t in ak.grid(ak.each(1, T)):", scope((whole,), (("t", "T"),), partial=True)),
        lambda: ("for b, t, h in ak.grid(ak.each(B), T, H):", scope((block_t, block_h), (("b", "B"),))),
        lambda: _segments(draft, whole, block_h),
        lambda: _segments(draft, whole, block_h),
        lambda: _rows_of_segments(draft, whole, block_h),
    )
    if long:
        forms = (*forms, lambda: ("for b in ak.grid(B):", scope((block_b, rows, whole))))
    header, found = rng.choice(forms)()
    while sizes["H"] > MOST_COLUMNS and any(axis.dim == "H" and axis.block and not axis.ragged for axis in found.axes):
        header, found = rng.choice(forms)()
    found.runs *= math.prod(sizes[dim] for _, dim in found.lead)
    return header, found


def _written(draft: Draft, t: Axis, h: Axis) -> tuple[str, Scope]:
    """Blocks of two axes, whose sizes may be written."""
    rng = draft.rng
    block_t, block_h = rng.choice((None, *WRITTEN)), rng.choice((None, *WRITTEN, 128))
    runs = math.prod(-(-axis.extent // n) for axis, n in ((t, block_t), (h, block_h)) if n)
    if runs > MOST_BLOCKS:
        block_t, block_h, runs = None, 128, 1
    axes = (replace(t, reducible=block_t is not None), replace(h, reducible=block_h is not None))
    counts = {"h": f"ak.cdiv(H, {block_h})"} if block_h else {}
    counts |= {"t": f"ak.cdiv(T, {block_t})"} if block_t else {}
    return f"for t, h in ak.grid(T, H, block=({block_t}, {block_h})):", Scope(draft, axes, counts=counts, runs=runs)


def _pieces(draft: Draft, t: Axis) -> tuple[str, Scope]:
    """Rows in pieces of columns: so many pieces, or pieces of a written size."""
    rng, n = draft.rng, draft.sizes["H"]
    _, most = draft.spans.get("H", (0, 0))
    piece = Axis("p", "H", "p", n, reducible=True, block=True, ragged=True, most=most)
    count = rng.choice((1, 2, 3, 7))
    given, counts, runs = str(count), str(count), count
    if rng.random() < 0.3:
        size = rng.choice([size for size in WRITTEN if -(-n // size) <= MOST_BLOCKS])
        piece = replace(piece, most=size)
        given, counts, runs = f"block={size}", f"ak.cdiv(H, {size})", -(-n // size)
    scope = Scope(draft, (t, piece), counts={"p": counts}, runs=runs, spans={"H": "p.start, p.end"})
    return f"for t, p in ak.grid(T, ak.parts(H, {given})):", scope


def _offsets(draft: Draft) -> str:
    return draft.tensor("f", draft.rng.choice(("i32", "i64")), ("M + 1",), promise=".offsets(T)")


def _segments(draft: Draft, whole: Axis, h: Axis) -> tuple[str, Scope]:
    """Whole segments of the rows, each with all columns, with some, or with none."""
    offsets = _offsets(draft)
    _, most = draft.spans.get("T", (draft.sizes["T"], draft.sizes["T"] if "T" in draft.statics else 0))
    segment = Axis("s", "T", "s", draft.sizes["T"], reducible=True, block=True, ragged=True, most=most)
    header, axes = draft.rng.choice(
        (
            (f"for s in ak.grid(ak.segments({offsets})):", (segment,)),
            (f"for s in ak.grid(ak.segments({offsets})):", (segment, whole)),
            (f"for s, h in ak.grid(ak.segments({offsets}), H):", (segment, h)),
            (f"for h, s in ak.grid(H, ak.segments({offsets})):", (h, segment)),
        )
    )
    near, spans = (("s.ordinal", "M"),), {"T": "s.start, s.end"}
    return header, Scope(draft, axes, counts={"s": "M"}, runs=max(draft.sizes["M"], 1), near=near, spans=spans)


def _rows_of_segments(draft: Draft, whole: Axis, h: Axis) -> tuple[str, Scope]:
    """Blocks of rows that never cross a segment."""
    offsets, block = _offsets(draft), draft.rng.choice((None, None, 1, 8, 32))
    rows = Axis("m", "T", "m", draft.sizes["T"], reducible=block is not None, block=True, most=block or 0)
    blocks = f"ak.segments({offsets}).blocks({f'block={block}' if block else ''})"
    header, axes = draft.rng.choice(
        (
            (f"for s, m in ak.grid({blocks}):", (rows, whole)),
            (f"for (s, m), h in ak.grid({blocks}, H):", (rows, h)),
            (f"for s, m in ak.grid({blocks}):", (rows,)),
        )
    )
    runs = max(draft.sizes["M"], 1) + draft.sizes["T"] // (block or 64)
    return header, Scope(draft, axes, runs=runs, near=(("s.ordinal", "M"),), spans={"T": "s.start, s.end"})
