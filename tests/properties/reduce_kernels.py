"""Cut a failing random kernel down while it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.properties.random_kernels import Axis, Grid, Line, Program, Store

Fails = Callable[[Program], bool]
MAX_TRIALS = 400
SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 128, 129)


def reduced(program: Program, fails: Fails) -> Program:
    """The smallest program found that still fails. `fails` is asked at most `MAX_TRIALS` times."""
    trials = 0
    while trials < MAX_TRIALS:
        for smaller in _smaller(program):
            if _size(smaller) >= _size(program):
                continue
            trials += 1
            if fails(smaller):
                program = smaller
                break
            if trials >= MAX_TRIALS:
                return program
        else:
            return program
    return program


def _size(program: Program) -> tuple[int, int, int]:
    lines = sum(len(g.lines) + 3 * len(g.stores) for g in program.grids)
    operands = sum(
        len(line.operands) + (len(line.axes) if "[" in line.text else 0) for g in program.grids for line in g.lines
    )
    return lines, operands, sum(program.sizes.values())


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are less, the largest cuts first."""
    for k in range(len(program.grids) if len(program.grids) > 1 else 0):
        yield replace(program, grids=program.grids[:k] + program.grids[k + 1 :]).pruned()
    for k, grid in enumerate(program.grids):
        for smaller in _smaller_grids(program, grid):
            grids = (*program.grids[:k], smaller[0], *program.grids[k + 1 :])
            yield replace(program, grids=grids, inputs={**program.inputs, **smaller[1]}).pruned()
    for name, number in program.sizes.items():
        for less in SMALL:
            if less < number:
                yield _with_size(program, name, less)


def _with_size(program: Program, name: str, number: int) -> Program:
    return replace(program, sizes={**program.sizes, name: number})


Change = tuple[Grid, dict[str, tuple[str, tuple[str, ...]]]]


def _smaller_grids(program: Program, grid: Grid) -> Iterator[Change]:
    for k in range(len(grid.stores) if len(grid.stores) > 1 else 0):
        yield replace(grid, stores=grid.stores[:k] + grid.stores[k + 1 :]), {}
    by_name = {line.name: line for line in grid.lines}
    for k, store in enumerate(grid.stores):
        for operand in by_name[store.value].operands:
            instead = _stored(store, by_name[store.value], by_name[operand])
            if instead is not None:
                yield replace(grid, stores=(*grid.stores[:k], instead, *grid.stores[k + 1 :])), {}
    for k, line in enumerate(grid.lines):
        for operand in line.operands:
            if (by_name[operand].dtype, by_name[operand].axes) == (line.dtype, line.axes):
                yield _renamed(grid, k, operand), {}
    for k, line in enumerate(grid.lines):
        if line.operands and line.axes:
            name = f"z{line.name}"
            dims = _annotated(line.axes, program)
            subscripts = ", ".join(axis.subscript for axis in line.axes)
            loaded = replace(line, text=f"{name}[{subscripts}]", operands=())
            yield replace(grid, lines=(*grid.lines[:k], loaded, *grid.lines[k + 1 :])), {name: (line.dtype, dims)}


def _annotated(axes: tuple[Axis, ...], program: Program) -> tuple[str, ...]:
    return tuple(axis.dim for axis in axes)


def _stored(store: Store, value: Line, operand: Line) -> Store | None:
    """Store the operand instead, where it has the value's axes."""
    if operand.axes != value.axes:
        return None
    return replace(store, value=operand.name, dtype=operand.dtype)


def _renamed(grid: Grid, position: int, to: str) -> Grid:
    """Without a line: its name stands for another."""
    name = grid.lines[position].name
    lines = [
        replace(line, operands=tuple(to if o == name else o for o in line.operands))
        for k, line in enumerate(grid.lines)
        if k != position
    ]
    stores = tuple(replace(s, value=to) if s.value == name else s for s in grid.stores)
    return replace(grid, lines=tuple(lines), stores=stores)
