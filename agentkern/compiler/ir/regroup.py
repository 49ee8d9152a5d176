"""Which axes of one shape hold the elements of which axes of another, in row-major order. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim


def reshape_groups(
    source: Sequence[int | Dim], result: Sequence[int | Dim]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pair up runs of axes with equal products, smallest runs first; axes of extent 1 stand in runs with no partner."""
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    a, b = 0, 0
    while a < len(source) or b < len(result):
        if a < len(source) and source[a] == 1 and not (b < len(result) and result[b] == 1):
            groups.append(((a,), ()))
            a += 1
            continue
        if b < len(result) and result[b] == 1 and not (a < len(source) and source[a] == 1):
            groups.append(((), (b,)))
            b += 1
            continue
        found = _group(source, result, a, b)
        if found is None:
            groups.append((tuple(range(a, len(source))), tuple(range(b, len(result)))))
            return groups
        groups.append((tuple(range(a, found[0])), tuple(range(b, found[1]))))
        a, b = found
    return groups


def _group(source: Sequence[int | Dim], result: Sequence[int | Dim], a: int, b: int) -> tuple[int, int] | None:
    """Ends of the smallest runs from (a, b) with one product."""
    for total in range(2, len(source) - a + len(result) - b + 1):
        for n in range(1, total):
            m = total - n
            if a + n > len(source) or b + m > len(result):
                continue
            if dims.product(tuple(source[a : a + n])) == dims.product(tuple(result[b : b + m])):
                return (a + n, b + m)
    return None
