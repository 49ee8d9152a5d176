"""The fields of task.toml: sizes, tensors with their values, scalars, criteria, shapes. One function a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.types import Access
from agentkern.dsl.dtypes import DTYPES, DType
from agentkern.evals.task_model import Shapes, Task, TaskCriterion, TaskScalar, TaskTensor, Values
from agentkern.evals.task_table import Table
from agentkern.tools.corpus_formulas import formula_value
from agentkern.tools.inputs import KINDS, Kind
from agentkern.tools.promised_inputs import ImpossiblePromise, keep_promises
from agentkern.tools.verify_criterion import Criterion, CriterionError, criterion_from_table
from agentkern.tools.verify_model import Sizes, concrete

ACCESSES: dict[str, Access] = {"in": "in", "out": "out", "inout": "inout"}
TENSOR_KEYS = ("name", "access", "dtype", "shape", "values", "partial")
INTEGER_VALUES = ("low", "high", "ignore", "distinct", "ignore_same", "offsets_to", "sorted")
FLOAT_VALUES = ("positive", "unit", "coarse", "finite", "sorted", "scale")
SIZE_KEYS = ("kind", "multiple_of", "min", "max")
EXACT_REFERENCE = "reference_f64"
CRITERION_KEYS = ("kind", "max_ulp", "min_equal_share", "max_error_ratio")
BASELINES = ("torch",)
"""What a submission can be timed beside: a function over torch tensors, as it stands and under torch.compile."""
MOST_ELEMENTS = 1 << 20
"""Elements of the largest tensor at a shape that is judged: a fraction of a second on the CPU."""
EXACT_KINDS: tuple[Kind, ...] = ("random", "integers", "special", "wide")
BOUND_KINDS: tuple[Kind, ...] = ("random", "integers")


def read_sizes(table: Table) -> tuple[SizeInfo, ...]:
    """Return the named sizes: `run`, `static`, or a table with what a size promises."""
    sizes = table.table("sizes")
    found: list[SizeInfo] = []
    for name, value in sizes.data.items():
        if not name.isidentifier():
            sizes.refuse(name, "is no name of a size")
        rules = Table(table.file, sizes.path(name), value if isinstance(value, dict) else {"kind": value})
        rules.only(SIZE_KEYS)
        is_static = rules.choice("kind", ("run", "static")) == "static"
        multiple_of, minimum = rules.integer("multiple_of", 1), rules.integer("min", 0)
        maximum = rules.integer("max") if "max" in rules else None
        for key, number, least in (("multiple_of", multiple_of, 1), ("min", minimum, 0), ("max", maximum, minimum)):
            if number is not None and number < least:
                rules.refuse(key, f"is at least {least}, not {number}")
        found.append(SizeInfo(name, is_static, multiple_of, minimum, maximum))
    return tuple(found)


def read_tensors(table: Table, sizes: Sequence[SizeInfo], *, is_blocked: bool) -> tuple[TaskTensor, ...]:
    """Return the tensors in order; at least one of them is written, unless the task is blocked."""
    found = tuple(_tensor(row, [size.name for size in sizes], is_blocked=is_blocked) for row in table.tables("tensors"))
    if not is_blocked and not any(t.access != "in" for t in found):
        table.refuse("tensors", "none is written: an output has access `out` or `inout`")
    _refuse_twice(table, [t.name for t in found])
    return found


def _refuse_twice(table: Table, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            table.refuse("tensors", f"`{name}` is there twice")


def _dtype(row: Table, *, is_blocked: bool) -> DType:
    packed = {name for name, dtype in DTYPES.items() if dtype.bits % 8}
    known = [name for name in DTYPES if is_blocked or name not in packed]
    return DTYPES[row.choice("dtype", known)]


def _tensor(row: Table, sizes: Sequence[str], *, is_blocked: bool) -> TaskTensor:
    row.only(TENSOR_KEYS)
    name = row.text("name")
    if not name.isidentifier():
        row.refuse("name", f"`{name}` is no name")
    access = ACCESSES[row.choice("access", tuple(ACCESSES))]
    dtype = _dtype(row, is_blocked=is_blocked)
    shape = tuple(row.extent("shape", extent, sizes) for extent in row.items("shape"))
    if "values" in row and access == "out":
        row.refuse("values", "an output has no values that are given")
    values = _values(row.table("values"), dtype, sizes)
    is_partial = row.flag("partial")
    if is_partial and access != "out":
        row.refuse("partial", "only an output may be written in part")
    return TaskTensor(name, access, dtype, shape, values, is_partial)


def _values(table: Table, dtype: DType, sizes: Sequence[str]) -> Values:
    table.only(FLOAT_VALUES if dtype.is_float else INTEGER_VALUES)
    if dtype.is_float:
        return Values(
            positive=table.flag("positive"),
            unit=table.flag("unit"),
            coarse=table.flag("coarse"),
            finite=table.flag("finite"),
            is_sorted=table.flag("sorted"),
            scale=table.number("scale", 1.0),
        )
    low, high, end = (_form(table, key, sizes) for key in ("low", "high", "offsets_to"))
    if (low is None) != (high is None):
        table.refuse("high" if high is None else "low", "is missing: a range has both ends")
    optional = {key: table.integer(key) if key in table else None for key in ("ignore", "ignore_same")}
    if low is None and end is None and not table.flag("distinct"):
        return Values(is_sorted=table.flag("sorted"))
    promise = Promise(low, high, optional["ignore"], table.flag("distinct"), optional["ignore_same"], end)
    return Values(promise, is_sorted=table.flag("sorted"))


def _form(table: Table, key: str, sizes: Sequence[str]) -> int | dims.Dim | None:
    return table.extent(key, table.data[key], sizes) if key in table else None


def read_criterion(table: Table, tensors: Sequence[TaskTensor], functions: Collection[str]) -> TaskCriterion:
    """Return the criterion of every output: the table's own, or that of `outputs.NAME`."""
    table.only((*CRITERION_KEYS, "derivation", "outputs", "check", "free"))
    names = [t.name for t in tensors if t.access != "in"]
    usual = _criterion(table)
    special = table.table("outputs")
    special.only(names)
    found = {name: _criterion(special.table(name)) if name in special else usual for name in names}
    check, free = table.text("check", ""), table.texts("free")
    if bool(check) != bool(free):
        table.refuse("free", "outputs are free where the function `check` judges them, and only there")
    if check and check not in functions:
        table.refuse("check", f"reference.py has no function `{check}`; it has {', '.join(functions)}")
    for name in free:
        if name not in names:
            table.refuse("free", f"there is no output `{name}`")
    for name, criterion in found.items():
        if criterion.max_error_ratio is not None and name not in free:
            _refuse_unmeasurable(table, next(t for t in tensors if t.name == name), functions)
    return TaskCriterion(found, table.text("derivation"), check, free)


def _refuse_unmeasurable(table: Table, tensor: TaskTensor, functions: Collection[str]) -> None:
    """Refuse a bound on errors that nothing tells."""
    if not tensor.dtype.is_float:
        table.refuse("max_error_ratio", f"is of rounding errors; `{tensor.name}` is {tensor.dtype}, which has none")
    if EXACT_REFERENCE not in functions:
        table.refuse("max_error_ratio", f"needs `{EXACT_REFERENCE}` in reference.py: the outputs in float64")


def _criterion(table: Table) -> Criterion:
    try:
        return criterion_from_table({key: table.data[key] for key in CRITERION_KEYS if key in table})
    except (CriterionError, TypeError, ValueError) as e:
        table.refuse("kind", str(e))


def read_body(table: Table, task: Task, functions: Mapping[str, tuple[str, ...]]) -> Task:
    """Return the task with its scalars, settings, kinds of inputs, shapes, roofline and baselines."""
    kinds = _kinds(table, task)
    task = replace(task, scalars=_scalars(table), settings=_settings(table), kinds=kinds)
    shapes = table.table("shapes")
    shapes.only(("shown", "hidden", "bench"))
    listed = {key: tuple(_shape(shapes, key, task, row) for row in shapes.items(key)) for key in shapes.data}
    for key in () if task.is_blocked else ("shown", "hidden", "bench"):
        if not listed.get(key):
            shapes.refuse(key, "is missing: there is no shape")
    task = replace(task, shapes=Shapes(**listed))
    roofline = _roofline(table.table("roofline"), task)
    return replace(task, roofline=roofline, baselines=_baselines(table.table("baselines"), task, functions))


def _kinds(table: Table, task: Task) -> tuple[Kind, ...]:
    given = table.texts("kinds")
    for kind in given:
        if kind not in KINDS:
            table.refuse("kinds", f"`{kind}` is not one of {', '.join(KINDS)}")
    named: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in given)
    if named:
        return named
    return EXACT_KINDS if task.criterion.is_bit_exact else BOUND_KINDS


def _settings(table: Table) -> dict[str, int | float | bool]:
    found = table.table("settings")
    for key, value in found.data.items():
        if not isinstance(value, int | float):
            found.refuse(key, f"a compile-time value is a number or true or false, not {value!r}")
    return dict(found.data)


def _scalars(table: Table) -> tuple[TaskScalar, ...]:
    found: list[TaskScalar] = []
    for row in table.tables("scalars"):
        row.only(("name", "dtype", "value", "others"))
        dtype = _dtype(row, is_blocked=False)
        if "value" not in row:
            row.refuse("value", "is missing")
        values = [_scalar(row, key, dtype, v) for key, v in (("value", row.data["value"]), *_others(row))]
        found.append(TaskScalar(row.text("name"), dtype, values[0], tuple(values[1:])))
    return tuple(found)


def _others(row: Table) -> Iterable[tuple[str, Any]]:
    return [("others", value) for value in row.items("others")]


def _scalar(row: Table, key: str, dtype: DType, value: Any) -> int | float | bool:
    fits = isinstance(value, bool) if dtype.kind == "bool" else not isinstance(value, bool)
    if dtype.is_float:
        fits = fits and isinstance(value, int | float)
        value = float(value) if fits else value
    elif fits:
        low, high = dtype.integer_range
        fits = isinstance(value, int) and low <= value <= high
    if not fits:
        row.refuse(key, f"{value!r} does not fit {dtype}")
    return value


def _shape(table: Table, key: str, task: Task, row: Any) -> Sizes:
    names = [size.name for size in task.sizes]
    if not isinstance(row, dict) or set(row) != set(names):
        table.refuse(key, f"{row!r} does not give {', '.join(f'`{name}`' for name in names)}")
    for size in task.sizes:
        number = row[size.name]
        if not isinstance(number, int) or isinstance(number, bool):
            table.refuse(key, f"`{size.name}` is {number!r}, not an integer")
        over = size.maximum is not None and number > size.maximum
        if number < size.minimum or over or number % size.multiple_of:
            table.refuse(key, f"`{size.name}` = {number} is not one of the numbers that `sizes.{size.name}` allows")
    sizes = {name: row[name] for name in names}
    for tensor in task.tensors:
        if any(extent < 0 for extent in concrete(tensor.shape, sizes)):
            table.refuse(key, f"`{tensor.name}` would have shape {list(concrete(tensor.shape, sizes))} at {sizes}")
    if key != "bench":
        _refuse_unfit(table, key, task, sizes)
    return sizes


def _refuse_unfit(table: Table, key: str, task: Task, sizes: Sizes) -> None:
    if task.elements(sizes) > MOST_ELEMENTS:
        table.refuse(key, f"{task.elements(sizes)} elements at {sizes}; at most {MOST_ELEMENTS} can be judged")
    for tensor in task.tensors:
        _refuse_wide(table, key, tensor, sizes)
    signature = task.signature
    zeros = {p.name: np.zeros(concrete(p.shape, sizes), np.int64) for p in signature.inputs}
    try:
        keep_promises(signature.promises, zeros, sizes)
    except ImpossiblePromise as e:
        table.refuse(key, f"no inputs keep the tensors' `values` at {sizes}: {e}")


def _refuse_wide(table: Table, key: str, tensor: TaskTensor, sizes: Sizes) -> None:
    """Refuse values that the tensor's type does not have: drawn, they would be others."""
    promise = tensor.values.promise
    if promise is None or not tensor.dtype.is_integer:
        return
    least, most = tensor.dtype.integer_range
    low, high, end = (dims.evaluate(form, sizes) for form in (promise.low or 0, promise.high or 1, promise.end or 0))
    given = (*((low, high - 1) if low < high else ()), end, promise.ignore or 0, promise.ignore_same or 0)
    for value in given:
        if not least <= value <= most:
            table.refuse(key, f"`{tensor.name}` would hold {value}, which {tensor.dtype} has not, at {sizes}")


def _roofline(table: Table, task: Task) -> dict[str, str]:
    table.only(("bytes", "flops"))
    for key in () if task.is_blocked and not table.data else ("bytes", "flops"):
        text = table.text(key)
        for sizes in task.shapes.bench:
            try:
                number = formula_value(text, sizes)
            except (KeyError, ValueError, ZeroDivisionError, RecursionError) as e:
                table.refuse(key, f"`{text[:100]}` has no number at {dict(sizes)}: {e}")
            if number < 0:
                table.refuse(key, f"`{text}` is {number} at {dict(sizes)}")
    return {key: table.text(key) for key in table.data}


def _baselines(table: Table, task: Task, functions: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the functions to time against; each takes what it is called with: inputs, scalars, then sizes by name."""
    table.only(BASELINES)
    asked = [*(t.name for t in task.tensors if t.access != "out"), *(s.name for s in task.scalars)]
    sizes = [size.name for size in task.sizes]
    for key, place in table.data.items():
        file, _, function = str(place).partition(":")
        if file != "reference.py" or function not in functions:
            table.refuse(key, f"`{place}` is no `reference.py:FUNCTION`; it has {', '.join(functions)}")
        taken = functions[function]
        if list(taken[: len(asked)]) != asked or not set(taken[len(asked) :]) <= set(sizes):
            right = f"{', '.join(asked)}, in this order, then those of {', '.join(sizes)} that it needs"
            table.refuse(key, f"`{function}` takes {', '.join(taken) or 'nothing'}; a baseline takes {right}")
    return {key: str(place) for key, place in table.data.items()}
