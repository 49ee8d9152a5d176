"""Which classes of axes a plan spreads, and which of those carry each of the others. Facts only."""

from collections.abc import Sequence

from agentkern.compiler.analysis.axes import AxisClasses


def root_choices(classes: AxisClasses) -> list[tuple[int, ...]]:
    """Root classes to try: every reshaped axis whole, then every one by its parts."""
    wholes = {split.whole for split in classes.splits}
    parts = {part for split in classes.splits for part in split.parts}
    numbers = range(len(classes.extents))
    by_whole = tuple(n for n in numbers if n not in parts or n in wholes)
    by_parts = tuple(n for n in numbers if n not in wholes)
    return [by_whole] if by_whole == by_parts else [by_whole, by_parts]


def roots_of(number: int, roots: Sequence[int], classes: AxisClasses) -> tuple[int, ...]:
    """The roots that carry a class: itself, the whole that it is part of, or its parts."""
    if number in roots:
        return (number,)
    for split in classes.splits:
        if number in split.parts and split.whole in roots:
            return (split.whole,)
        if number == split.whole and all(part in roots for part in split.parts):
            return split.parts
    return ()
