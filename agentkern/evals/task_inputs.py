"""Inputs of a task, seeded: from what the task says of its values, never from what a submission says.

What is drawn is `tools.inputs` of the same seed; then it is made to keep the task's `values`. Every value that a task
allows can occur.
"""

from __future__ import annotations

import numpy as np

from agentkern.compiler.ir.reference_formats import FLOATS, Raw, decode, encode
from agentkern.evals.task_model import Task, TaskScalar, TaskTensor, Values
from agentkern.tools.inputs import Kind, generate
from agentkern.tools.promised_inputs import kept
from agentkern.tools.verify_model import Call, Case, Scalars, Sizes, concrete

COARSE = 4.0
"""Coarse values are multiples of one over this, and none is -0."""
UNIT = 0.25
"""Random values lie within 4 of zero: this brings them between -1 and 1."""
MANY = 2.0**20
"""From here on coarse values stay as they are."""
SMALLEST_POSITIVE = 2.0**-6
"""What stands for zero where values are positive; every float type has it."""


def task_case(task: Task, kind: Kind, sizes: Sizes, seed: int, *, scalars: Scalars | None = None) -> Case:
    """Return a named call; `scalars` beside the usual ones are named too."""
    shown = ", ".join(f"{name}={n}" for name, n in (*sizes.items(), *(scalars or {}).items()))
    return Case(f"{kind}, {shown}", task_call(task, kind, sizes, seed, scalars=scalars))


def task_call(task: Task, kind: Kind, sizes: Sizes, seed: int, *, scalars: Scalars | None = None) -> Call:
    """Return a call with seeded inputs at these sizes, scalars their usual ones unless given.

    A partial output begins with seeded values too: they are to stay, so that nothing fixed may pass for them.
    """
    tensors = {t.name: task_array(t, kind, sizes, seed) for t in task.tensors if t.access != "out" or t.is_partial}
    given = {s.name: s.value for s in task.scalars} | dict(scalars or {})
    return Call(tensors, dict(sizes), given)


def other_scalars(task: Task) -> tuple[Scalars, ...]:
    """Return further scalars that an answer must be right for: what a kernel has baked in is the usual number.

    Number k takes the k-th of each scalar's `others`; a scalar without any keeps its usual one.
    """
    count = max((len(_others(s)) for s in task.scalars), default=0)
    picks = ({s.name: pick for s in task.scalars if (pick := _other(s, k)) is not None} for k in range(count))
    return tuple(picks)


def _others(scalar: TaskScalar) -> tuple[int | float | bool, ...]:
    if scalar.others or not scalar.dtype.is_float:
        return scalar.others
    return (1.375 * float(scalar.value) + 0.125,)


def _other(scalar: TaskScalar, number: int) -> int | float | bool | None:
    others = _others(scalar)
    return others[min(number, len(others) - 1)] if others else None


def task_array(tensor: TaskTensor, kind: Kind, sizes: Sizes, seed: int) -> Raw:
    """Return one input's raw array."""
    shape = concrete(tensor.shape, sizes)
    drawn = generate(kind, tensor.dtype, shape, seed, tensor.name)
    values = tensor.values
    if tensor.dtype.name in FLOATS:
        return _floats(tensor, values, kind, drawn)
    if values.promise is not None:
        drawn = kept(values.promise, drawn, sizes)
    return np.sort(drawn, axis=-1) if values.is_sorted and drawn.size else drawn


def _floats(tensor: TaskTensor, values: Values, kind: Kind, drawn: Raw) -> Raw:
    """Return floats that keep the task's values; bits that need no change stay, NaN payloads too."""
    name = tensor.dtype.name
    wide = decode(name, drawn).astype(np.float64)
    made = wide * values.scale if kind == "random" else wide
    if values.finite:
        made = np.where(np.isfinite(made), made, 1.0)
    if values.unit:
        made = np.clip(made * UNIT, -1.0, 1.0)
    if values.coarse:
        near = np.clip(np.nan_to_num(made), -MANY, MANY)
        made = np.where(np.abs(made) < MANY, np.round(near * COARSE) / COARSE + 0.0, made)
    if values.positive:
        made = np.where(made == 0, SMALLEST_POSITIVE, np.abs(made))
    if values.is_sorted and made.size:
        made = np.sort(made, axis=-1)
    is_same = ((made == wide) & (np.signbit(made) == np.signbit(wide))) | (np.isnan(made) & np.isnan(wide))
    return np.where(is_same, drawn, encode(name, made))
