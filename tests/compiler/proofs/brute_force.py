"""What a sketched kernel really does at given sizes, element by element: the judge of every proof.

Shares nothing with the analyses: index scalars are evaluated as plain integers, every block is visited, and blocks
that the compiler would size hold one index each.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.types import BlockType, TensorType, TileType


@dataclass(frozen=True)
class Piece:
    """The current block of an axis."""

    ordinal: int
    start: int
    end: int


@dataclass
class Findings:
    """Violations by kind: for bounds and division the line, for the rest the tensor."""

    bounds: set[int] = field(default_factory=set)
    division: set[int] = field(default_factory=set)
    disjoint: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    coverage: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)


def pieces(block: BlockType, sizes: Mapping[str, int]) -> list[Piece]:
    extent = dims.evaluate(block.extent, sizes)
    step = block.block or 1
    starts = range(0, max(extent, 0), step)
    return [Piece(k, start, min(start + step, extent)) for k, start in enumerate(starts)]


def judge(kernel: Kernel, sizes: Mapping[str, int], scalars: Mapping[str, int]) -> Findings:
    """Every violation that a kernel commits at these sizes and scalars."""
    findings = Findings()
    written: dict[str, set[tuple[int, ...]]] = {}
    for op in kernel.body:
        if op.name == "grid":
            _grid(kernel, op, sizes, scalars, findings, written)
    for param in kernel.params:
        if isinstance(param.type, TensorType) and param.type.access == "out":
            shape = [dims.evaluate(e, sizes) for e in param.type.shape]
            every = itertools.product(*map(range, shape))
            if any(e not in written.get(param.name or "", set()) for e in every):
                findings.coverage.add(param.name or "")
    return findings


def _grid(kernel, grid: Op, sizes, scalars, findings: Findings, written) -> None:
    args = grid.regions[0].args
    here: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
    loads: list[tuple[str, bool, tuple[int, ...], set[tuple[int, ...]]]] = []
    earlier = {name: set(elements) for name, elements in written.items()}
    for ordinals in itertools.product(*(pieces(a.type, sizes) for a in args)):
        number = tuple(p.ordinal for p in ordinals)
        values: dict[Value, object] = dict(zip(args, ordinals, strict=True))
        values.update({p: scalars[p.name or ""] for p in kernel.params if isinstance(p.type, TileType)})
        for op in grid.regions[0].ops:
            if op.name in ("load", "store"):
                elements = _touched(op, values, sizes, findings)
                name = op.operands[0].name or ""
                if op.name == "load":
                    if op.operands[0].type.access == "out" and elements - earlier.get(name, set()):
                        findings.filled.add(name)
                    loads.append((name, op.operands[0].type.access == "inout", number, elements))
                for element in elements if op.name == "store" else ():
                    here.setdefault((name, element), set()).add(number)
                    written.setdefault(name, set()).add(element)
            elif isinstance(op.result.type, TileType) and not op.result.type.shape:
                values[op.result] = _scalar(op, values, sizes, findings)
    findings.disjoint |= {name for (name, _), writers in here.items() if len(writers) > 1}
    for name, own, number, elements in loads:
        for element in elements:
            writers = here.get((name, element), set())
            if writers - {number} or (writers and not own):
                findings.reads.add(name)


def _touched(op: Op, values, sizes, findings: Findings) -> set[tuple[int, ...]]:
    tensor = op.operands[0].type
    first = 2 if op.name == "store" else 1
    axes: list[range] = []
    for entry, extent in zip(op.attrs["index"], tensor.shape, strict=True):
        n = dims.evaluate(extent, sizes)
        if entry == ":":
            axes.append(range(max(n, 0)))
        elif entry.startswith("$"):
            value = values[op.operands[first + int(entry[1:])]]
            if value is None:
                return set()
            axes.append(range(value.start, value.end) if isinstance(value, Piece) else range(value, value + 1))
        else:
            low, high = (dims.evaluate(dims.parse(e), sizes) for e in entry.split(":"))
            axes.append(range(low, high))
    backward = [axis for axis in axes if axis.stop < axis.start]
    if len(backward) == 1 and all(len(axis) for axis in axes if axis is not backward[0]):
        findings.bounds.add(op.location[0])
    elements = set(itertools.product(*axes))
    shape = [dims.evaluate(e, sizes) for e in tensor.shape]
    inside = {e for e in elements if all(0 <= i < n for i, n in zip(e, shape, strict=True))}
    if inside != elements:
        findings.bounds.add(op.location[0])
    return inside


def _scalar(op: Op, values, sizes, findings: Findings) -> int | None:
    operands = [values.get(v) for v in op.operands]
    if op.name == "constant":
        return op.attrs["value"]
    if op.name == "size":
        return dims.evaluate(op.attrs["extent"], sizes)
    if None in operands:
        return None
    if op.name in ("ordinal", "start", "end"):
        return getattr(operands[0], op.name)
    if op.name in ("floor_div", "mod") and operands[1] == 0:
        findings.division.add(op.location[0])
        return None
    meaning = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "floor_div": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "minimum": min,
        "maximum": max,
        "neg": lambda a: -a,
        "abs": abs,
    }
    return meaning[op.name](*operands)
