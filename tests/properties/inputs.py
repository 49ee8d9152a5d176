"""Arrays for a kernel of the property tests: seeded, with special values, keeping what parameters promise."""

from __future__ import annotations

import math

import numpy as np

from agentkern.compiler.abi import TensorParam, params_of
from agentkern.compiler.analysis.promises import Promise, promises_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.records import Layout
from agentkern.compiler.ir.reference_formats import STORAGE
from tests.properties.programs import Program

POISON = 0xA5
NARROW = ("e4m3", "e5m2", "e8m0")
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-42, 3e38, 65504.0, 0.5, 1.0)


def arrays(kernel: Kernel, program: Program, *, gaps: bool = True) -> dict[str, np.ndarray]:
    """Inputs of the program's seed; outputs filled with a pattern that must be overwritten. `gaps`: some are strided."""
    rng = np.random.default_rng(program.seed)
    promises = promises_of(kernel)
    found: dict[str, np.ndarray] = {}
    for param in params_of(kernel):
        if not isinstance(param, TensorParam):
            continue
        name, dtype = param.name, param.dtype.name
        shape = tuple(dims.evaluate(extent, program.sizes) for extent in param.shape)
        if param.access in ("in", "inout"):
            raw = random_input(rng, dtype, shape) if param.record is None else _records(rng, param.record, shape)
            found[name] = kept(raw, promises[name], program.sizes, rng) if name in promises else raw
        else:
            storage = np.dtype(STORAGE[dtype])
            found[name] = np.full((*shape, storage.itemsize), POISON, np.uint8).view(storage).reshape(shape)
    spread = strided(kernel, program) if gaps else ()
    packed = {p.name for p in params_of(kernel) if isinstance(p, TensorParam) and (p.record or p.granule > 1)}
    return {n: _with_gaps(a, last=1 if n in packed else 2) if n in spread else a for n, a in found.items()}


def _records(rng: np.random.Generator, layout: Layout, shape: tuple[int, ...]) -> np.ndarray:
    """Bytes of records: each field has values of its element type."""
    rows = math.prod(shape[:-1])
    made = np.zeros((rows, shape[-1]), np.uint8)
    for leaf in layout.leaves:
        extents = tuple(extent for extent in leaf.shape if isinstance(extent, int))
        values = random_input(rng, leaf.dtype.name, (rows, *extents))
        assert isinstance(leaf.offset, int)
        strides = (shape[-1], *(stride for stride in leaf.strides if isinstance(stride, int)), 1)
        each = (*values.shape, leaf.dtype.nbytes)
        if values.size:
            place = np.lib.stride_tricks.as_strided(made[:, leaf.offset :], each, strides)
            place[...] = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(each)
    return made.reshape(shape)


def strided(kernel: Kernel, program: Program) -> tuple[str, ...]:
    """Tensors that one program in four passes with gaps between its elements."""
    names = [p.name for p in params_of(kernel) if isinstance(p, TensorParam) and p.access != "scratch"]
    return tuple(names[program.seed % len(names) :]) if names and program.seed % 4 == 3 else ()


def _with_gaps(array: np.ndarray, *, last: int) -> np.ndarray:
    """The same elements, each axis strided as in an array one longer along it, the last every `last`-th element."""
    if last == 1:
        room = np.zeros((*(n + 1 for n in array.shape[:-1]), array.shape[-1]), array.dtype)
        view = room[tuple(slice(0, n) for n in array.shape)]
    else:
        room = np.zeros((*(n + 1 for n in array.shape[:-1]), 2 * array.shape[-1] + 1), array.dtype)
        view = room[tuple(slice(0, n) for n in array.shape[:-1])][..., : 2 * array.shape[-1] : 2]
    view[...] = array
    return view


def kept(raw: np.ndarray, promise: Promise, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """Values that keep a promise. Errors: ValueError where none do."""
    info = np.iinfo(raw.dtype)
    if promise.end is not None:
        end = dims.evaluate(promise.end, sizes)
        cuts = np.sort(rng.integers(0, end + 1, raw.size))
        cuts[:1], cuts[-1:] = 0, end
        return cuts.astype(raw.dtype).reshape(raw.shape)
    low = dims.evaluate(promise.low, sizes) if promise.low is not None else int(max(info.min, -100))
    high = dims.evaluate(promise.high, sizes) if promise.high is not None else int(min(info.max, 30_000))
    others = [] if promise.ignore is None else [promise.ignore]
    if promise.distinct:
        low = max(low, 0) if promise.low is None else low
        return _distinct(raw, (low, high), promise, rng)
    if high <= low and raw.size and not others:
        raise ValueError(f"no value is from {low} to {high} - 1")
    choices = rng.integers(low, max(high, low + 1), raw.shape)
    if others:
        ignored = rng.random(raw.shape) < (0.3 if high > low else 1.0)
        choices = np.where(ignored, others[0], choices)
    return choices.astype(raw.dtype)


def _distinct(raw: np.ndarray, span: tuple[int, int], promise: Promise, rng: np.random.Generator) -> np.ndarray:
    """Values of a span without two equal ones; the ignored one may stand often."""
    low, high = span[0], min(span[1], max(span[0] + 2 * raw.size, span[0] + 8))
    room = np.arange(low, high)
    if promise.ignore_same is not None:
        room = np.concatenate([room, np.full(max(raw.size - room.size, raw.size // 3), promise.ignore_same)])
    if room.size < raw.size:
        raise ValueError(f"{raw.size} distinct values from {low} to {high} - 1")
    return rng.permutation(room)[: raw.size].astype(raw.dtype).reshape(raw.shape)


def random_input(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Raw storage of a dtype: ordinary values, special ones, or any bits."""
    storage = np.dtype(STORAGE[dtype])
    kind = rng.integers(3)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind == 0 or dtype in NARROW:
        raw = rng.integers(0, 256, (*shape, storage.itemsize), np.uint8)
        return np.ascontiguousarray(raw).view(storage).reshape(shape)
    if storage.kind in "iu" and dtype != "bf16":
        return rng.integers(0 if storage.kind == "u" else -9, 10, shape).astype(storage)
    values = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
    if kind == 2 and values.size:
        where = rng.random(shape) < 0.3
        values = np.where(where, rng.choice(np.array(_SPECIAL, np.float32), shape), values)
    if dtype == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(storage)
