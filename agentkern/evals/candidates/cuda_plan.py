"""The launch plan of a CUDA submission: which kernel runs on which grid with which arguments. Reads text, runs nothing.

A submission is CUDA C++ whose first comment is the plan, as JSON:

    /* launches
    {"scratch": {"partial": {"dtype": "f32", "shape": ["ceil_div(N, 256)"]}},
     "launches": [{"kernel": "add", "grid": ["ceil_div(N, 256)"], "block": [256], "shared_bytes": 0,
                   "arguments": ["x", "y", "out", "N"]}]}
    */

Numbers may be integers or expressions over the task's sizes: `+ - * // %`, `min`, `max`, `ceil_div`.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkern.compiler.ir.reference_formats import STORAGE

MAX_LAUNCHES, MAX_SCRATCH = 64, 16
MAX_SCRATCH_BYTES = 256 << 20
"""Of all scratch together: it is copied to the process that runs a launch, and back."""
MAX_BLOCKS, MAX_THREADS, MAX_SHARED_BYTES = (1 << 31) - 1, 1024, 227 * 1024
_PLAN = re.compile(r"\A\s*/\*\s*launches\b(.*?)\*/", re.DOTALL)
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}
_NAME = re.compile(r"[A-Za-z_]\w*\Z")

Number = int | str
"""An integer, or an expression over sizes."""


class BadPlan(ValueError):
    """A plan that cannot be followed; the message says where and what to write instead."""


@dataclass(frozen=True, slots=True)
class CudaLaunch:
    """One launch. `grid` and `block` have three extents; `arguments` are names of tensors, sizes and scalars."""

    kernel: str
    grid: tuple[Number, Number, Number]
    block: tuple[Number, Number, Number]
    shared_bytes: Number
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory for the kernels' own use, uninitialised."""

    name: str
    dtype: str
    shape: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class CudaPlan:
    """The launches in order, and their scratch."""

    launches: tuple[CudaLaunch, ...]
    scratch: tuple[Scratch, ...] = ()

    def check_names(self, known: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        """Hold the arguments against a task's parameters and sizes. Errors: BadPlan."""
        for scratch in self.scratch:
            if scratch.name in known:
                raise BadPlan(f"`scratch`: `{scratch.name}` is a parameter of the task; choose another name")
        names = (*known, *(scratch.name for scratch in self.scratch))
        for launch in self.launches:
            for argument in launch.arguments:
                if argument not in names:
                    raise BadPlan(f"`arguments` of `{launch.kernel}`: `{argument}` is none of {', '.join(names)}")
        passed = {argument for launch in self.launches for argument in launch.arguments}
        for output in outputs:
            if output not in passed:
                raise BadPlan(f"no launch gets the output `{output}`")


def read_plan(source: str) -> CudaPlan:
    """Return the plan of a submission. Errors: BadPlan."""
    found = _PLAN.match(source)
    if found is None:
        raise BadPlan("the text does not begin with a comment `/* launches {...} */` that holds the launch plan")
    try:
        given = json.loads(found.group(1))
    except (ValueError, RecursionError) as e:
        raise BadPlan(f"the launch plan is no JSON: {e}") from e
    plan = {"launches": given} if isinstance(given, list) else given
    table = _table(plan, "the plan", required=("launches",), optional=("scratch",))
    launches = _items(table["launches"], "`launches`")
    if not 1 <= len(launches) <= MAX_LAUNCHES:
        raise BadPlan(f"`launches` has {len(launches)} entries; 1 to {MAX_LAUNCHES} are possible")
    scratch = table.get("scratch") or {}
    if not isinstance(scratch, dict) or len(scratch) > MAX_SCRATCH:
        raise BadPlan(f"`scratch` is an object of at most {MAX_SCRATCH} buffers by name")
    return CudaPlan(tuple(map(_launch, launches)), tuple(_scratch(name, row) for name, row in scratch.items()))


def _launch(given: Any) -> CudaLaunch:
    keys = ("kernel", "grid", "block", "arguments")
    row = _table(given, "a launch", required=keys, optional=("shared_bytes",))
    kernel = row["kernel"]
    if not isinstance(kernel, str) or not _NAME.match(kernel):
        raise BadPlan(f"`kernel` is the name of a function, not {kernel!r}")
    arguments = _items(row["arguments"], f"`arguments` of `{kernel}`")
    if not all(isinstance(name, str) for name in arguments):
        raise BadPlan(f"`arguments` of `{kernel}` are names")
    shared = _number(row.get("shared_bytes", 0), f"`shared_bytes` of `{kernel}`")
    grid, block = (_extents(row[key], f"`{key}` of `{kernel}`") for key in ("grid", "block"))
    return CudaLaunch(kernel, grid, block, shared, tuple(arguments))


def _scratch(name: str, given: Any) -> Scratch:
    where = f"scratch `{name}`"
    row = _table(given, where, required=("dtype", "shape"), optional=())
    if not _NAME.match(name):
        raise BadPlan(f"{where} has no name that C++ could give it")
    if not isinstance(row["dtype"], str) or row["dtype"] not in STORAGE:
        raise BadPlan(f"`dtype` of {where} is one of {', '.join(STORAGE)}, not {row['dtype']!r}")
    shape = _items(row["shape"], f"`shape` of {where}")
    return Scratch(name, row["dtype"], tuple(_number(extent, f"`shape` of {where}") for extent in shape))


def _table(given: Any, what: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadPlan(f"{what} is a JSON object, not {json.dumps(given)[:60]}")
    for key in required:
        if key not in given:
            raise BadPlan(f"{what} has no `{key}`")
    for key in given:
        if key not in (*required, *optional):
            raise BadPlan(f"{what}: there is no `{key}`; keys are {', '.join((*required, *optional))}")
    return given


def _items(given: Any, what: str) -> list[Any]:
    if not isinstance(given, list):
        raise BadPlan(f"{what} is a list, not {json.dumps(given)[:60]}")
    return given


def _extents(given: Any, what: str) -> tuple[Number, Number, Number]:
    extents = [_number(extent, what) for extent in (given if isinstance(given, list) else [given])]
    if not 1 <= len(extents) <= 3:
        raise BadPlan(f"{what} has 1 to 3 extents, not {len(extents)}")
    first, second, third = (*extents, 1, 1)[:3]
    return first, second, third


def _number(given: Any, what: str) -> Number:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if not isinstance(given, str) or len(given) > 200:
        raise BadPlan(f"{what}: an integer or a short expression over sizes, not {json.dumps(given)[:60]}")
    return given


def evaluate(number: Number, sizes: Mapping[str, int]) -> int:
    """Return a number of a plan at given sizes. Errors: BadPlan."""
    if isinstance(number, int):
        return number
    try:
        return _value(ast.parse(number, mode="eval").body, sizes)
    except (SyntaxError, ValueError, ZeroDivisionError, TypeError, OverflowError, RecursionError, MemoryError) as e:
        raise BadPlan(f"`{number}` is no expression over {', '.join(sizes)}: {e}") from e


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left, sizes), _value(right, sizes)))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(left, sizes), _value(right, sizes))
        case _:
            raise ValueError(f"`{ast.unparse(node)}` cannot stand in it")


def _bounded(value: int) -> int:
    if abs(value) >= 1 << 63:
        raise OverflowError("it does not fit 64 bits")
    return value
