"""Drawings of layouts: which thread and register hold each element, as text and as SVG. Knows no IR.

A cell reads `thread:register` (thread = 32 * warp + lane), the first holder of an element; `+` marks further copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from agentkern.compiler.layout.layout import REPLICATED, WARP_LANES, Digit, Layout

MAX_TEXT_CELLS, MAX_TEXT_COLUMNS = 256, 32  # what stays readable in a terminal
MAX_PICTURE_CELLS, MAX_PICTURE_COLUMNS = 4096, 64
CELL_WIDTH, CELL_HEIGHT = 44, 18  # pixels
HUES_PER_WARP = 8


@dataclass(frozen=True, slots=True)
class Holder:
    """The first thread and register that hold an element, and how many do."""

    thread: int
    register: int
    count: int

    def __str__(self) -> str:
        return f"{self.thread}:{self.register}{'+' if self.count > 1 else ''}"


def holders(layout: Layout) -> dict[tuple[int, ...], Holder]:
    """The holder of every element, by coordinates."""
    found: dict[tuple[int, ...], Holder] = {}
    numbers = product(range(layout.warp_count), range(WARP_LANES), range(layout.register_count))
    for warp, lane, register in numbers:
        at = layout.coordinates(register, lane, warp)
        known = found.get(at)
        if known is None:
            found[at] = Holder(WARP_LANES * warp + lane, register, 1)
        else:
            found[at] = Holder(known.thread, known.register, known.count + 1)
    return found


def _is_small(layout: Layout, cells: int, columns: int) -> bool:
    shape = layout.shape
    return layout.rank > 0 and prod(shape) <= cells and shape[-1] <= columns


def _planes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Leading coordinates of each plane of the last two axes."""
    return product(*(range(extent) for extent in shape[:-2]))


def _grid(layout: Layout) -> str:
    shape = layout.shape
    held = holders(layout)
    rows = range(shape[-2]) if layout.rank > 1 else range(1)
    cell = max(len(str(holder)) for holder in held.values())
    lines: list[str] = []
    for plane in _planes(shape):
        if plane:
            lines.append(f"[{', '.join(map(str, plane))}, :, :]")
        for row in rows:
            at = (*plane, row) if layout.rank > 1 else ()
            cells = (held.get((*at, column)) for column in range(shape[-1]))
            lines.append(" ".join(str(c if c is not None else ".").rjust(cell) for c in cells))
    return "\n".join(lines) + "\n"


def _digit_text(digit: Digit) -> str:
    if digit.axis == REPLICATED:
        return f"{digit.extent} hold copies"
    step = f", {digit.stride} apart" if digit.stride > 1 else ""
    return f"{digit.extent} along axis {digit.axis}{step}"


def _summary(layout: Layout) -> str:
    extents = " x ".join(map(str, layout.shape)) or "one"
    noun = "elements" if layout.rank else "element"
    lines = [f"{extents} {noun} over {layout.warp_count * WARP_LANES} threads"]
    parts = (("registers", layout.registers), ("lanes", layout.lanes), ("warps", layout.warps))
    for name, digits in parts:
        texts = [_digit_text(digit) for digit in digits if digit.extent > 1]
        lines.append(f"  {name.ljust(10)}{'; then '.join(texts) or 'one'}")
    return "\n".join(lines) + "\n"


def draw_text(layout: Layout) -> str:
    """What each part of a thread's number steps along; for a small tile also the grid of its elements' holders."""
    return _summary(layout) + (_grid(layout) if _is_small(layout, MAX_TEXT_CELLS, MAX_TEXT_COLUMNS) else "")


def _cell_svg(x: int, y: int, holder: Holder | None) -> str:
    rectangle = f'<rect x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}"'
    if holder is None:
        return f'{rectangle} class="none"/>'
    warp, lane = divmod(holder.thread, WARP_LANES)
    hue = 360 * (warp % HUES_PER_WARP) // HUES_PER_WARP
    fill = f"hsl({hue} 70% {92 - lane}%)"
    middle = f'<text x="{x + CELL_WIDTH // 2}" y="{y + CELL_HEIGHT - 5}">{holder}</text>'
    return f'{rectangle} fill="{fill}"/>{middle}'


def draw_svg(layout: Layout) -> str | None:
    """The grid as a picture: a colour a warp, a shade a lane, planes below each other. None of large tiles."""
    if not _is_small(layout, MAX_PICTURE_CELLS, MAX_PICTURE_COLUMNS):
        return None
    shape, held = layout.shape, holders(layout)
    rows = shape[-2] if layout.rank > 1 else 1
    cells: list[str] = []
    planes = list(_planes(shape))
    for number, plane in enumerate(planes):
        top = number * (rows + 1) * CELL_HEIGHT
        for row, column in product(range(rows), range(shape[-1])):
            at = (*plane, row, column) if layout.rank > 1 else (column,)
            cells.append(_cell_svg(column * CELL_WIDTH, top + row * CELL_HEIGHT, held.get(at)))
    width, height = shape[-1] * CELL_WIDTH, (len(planes) * (rows + 1) - 1) * CELL_HEIGHT
    style = "rect{stroke:#888}rect.none{fill:none}text{font:10px monospace;text-anchor:middle}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<title>{layout.text}</title><style>{style}</style>", *cells, "</svg>", ""])
