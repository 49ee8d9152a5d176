"""Run a TILE kernel in NumPy: the oracle that every other way of running a kernel must equal bit for bit.

A block whose size the compiler chooses is run in pieces of any size (bits do not depend on it); written blocks are run
one after another. Tiles hold present positions only: the last block of an axis is just shorter. Shares no code with the
lowering and must not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agentkern.compiler.ir import reference_orders
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.interpreter_atomics import update_elements
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.interpreter_grids import block_type, blocks_between, grid_frames
from agentkern.compiler.ir.interpreter_loops import run_branch, run_loop
from agentkern.compiler.ir.interpreter_moves import MOVES, attr_tuple, axis_of, sort_kept, store
from agentkern.compiler.ir.interpreter_ops import ELEMENT, REDUCE, SCANS, constant, distinct, result_type, tile_type
from agentkern.compiler.ir.interpreter_orders import Orders
from agentkern.compiler.ir.interpreter_requirements import BrokenPromise, RequirementError, require
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.compiler.ir.types import TensorType, TileType, entry_names

__all__ = ["BrokenPromise", "InterpreterError", "RequirementError", "interpret"]


def interpret(
    kernel: Kernel,
    tensors: Mapping[str, Raw],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float | bool],
    *,
    free_block: int | None = None,
    orders: Orders | None = None,
) -> None:
    """Run `kernel` (TILE) over raw storage arrays, writing those of Out and InOut parameters in place.

    tensors: by parameter name, in the storage of `reference_formats.py`; scratch may be left out. sizes: every run-time
    size. free_block: the size of blocks that the compiler chooses, for tests; None takes what runs fast. orders: notes
    which elements depend on the order of float atomics.
    Errors: InterpreterError when an argument is missing or misshapen, or an index is out of range.
    """
    static = {info.name: sizes[info.name] for info in kernel.sizes if info.static and info.name in sizes}
    frame = Frame({}, dict(sizes), static, free_block, orders=orders)
    for param in kernel.params:
        frame.values[id(param)] = _argument(param, frame, tensors, scalars)
    _run(kernel.body, frame)
    for param in kernel.params:
        if isinstance(param.type, TensorType) and param.type.table and param.type.access != "in":
            _return_table(param, param.type, frame, tensors)


def _argument(param: Value, frame: Frame, tensors: Mapping[str, Raw], scalars: Mapping[str, int | float | bool]) -> Raw:
    name = param.name or ""
    if isinstance(param.type, TileType):
        if name not in scalars:
            raise InterpreterError(f"scalar `{name}` has no value")
        return constant(param.type.dtype.name, scalars[name])
    assert isinstance(param.type, TensorType)
    if param.type.table:
        return _table(param, param.type, frame, tensors)
    storage = np.dtype(STORAGE[param.type.dtype.name])
    shape = frame.shape(param.type.shape)
    if name not in tensors:
        if param.type.access != "scratch":
            raise InterpreterError(f"tensor `{name}` is missing")
        return np.zeros(shape, storage)
    array = tensors[name]
    if array.shape != shape or array.dtype != storage:
        have, want = f"{array.dtype}{list(array.shape)}", f"{storage}{list(shape)}"
        raise InterpreterError(f"tensor `{name}` is {have}, not {want}")
    return array


def _table(param: Value, type_: TensorType, frame: Frame, tensors: Mapping[str, Raw]) -> Raw:
    """The tensors of a table as one array: what is written goes back to each at the end."""
    found = np.zeros(frame.shape(type_.shape), np.dtype(STORAGE[type_.dtype.name]))
    for k, name in enumerate(entry_names(param.name or "", type_)):
        found[k] = _argument(Value(type_.entry, name), frame, tensors, {})
    return found


def _return_table(param: Value, type_: TensorType, frame: Frame, tensors: Mapping[str, Raw]) -> None:
    states = frame.orders.states if frame.orders is not None else {}
    found = states.pop(param.name or "", None)
    for k, name in enumerate(entry_names(param.name or "", type_)):
        tensors[name][...] = frame.array(param)[k]
        states.update({name: found[k]} if found is not None else {})


def _run(ops: Sequence[Op], frame: Frame) -> None:
    for op in ops:
        if op.name == "grid":
            _run_grid(op, frame)
        elif op.name == "store":
            store(op, frame)
        elif op.name == "sort_kept":
            sort_kept(op, frame)
        elif op.name == "atomic":
            update_elements(op, frame)
        elif op.name == "require":
            require(op, ops, frame)
        elif op.name == "stream":
            _run_stream(op, frame)
        elif op.name == "loop":
            run_loop(op, frame, _run)
        elif op.name == "branch":
            run_branch(op, frame, _run)
        elif op.name == "yield":
            continue
        elif op.name == "topk":
            _topk(op, frame)
        else:
            frame.values[id(op.result)] = _evaluate(op, frame)


def _evaluate(op: Op, frame: Frame) -> Raw:
    if op.name in ELEMENT:
        return _element(op, frame)
    if op.name in REDUCE:
        return _reduce(op, frame)
    if op.name in SCANS:
        return _scan(op, frame)
    if op.name == "load" and frame.orders is not None:
        frame.orders.read(op.operands[0].name or "")
    if op.name in MOVES:
        return MOVES[op.name](op, frame)
    raise InterpreterError(f"operation `{op.name}` has no meaning in the interpreter", op.location)


def _element(op: Op, frame: Frame) -> Raw:
    operands = tuple(distinct(frame.array(value)) for value in op.operands)
    return np.broadcast_to(ELEMENT[op.name](op, operands), frame.shape(result_type(op).shape))


def _reduce(op: Op, frame: Frame) -> Raw:
    source = tile_type(op)
    axes = tuple(int(str(a)) for a in attr_tuple(op, "axes"))
    extents = tuple(frame.static_extent(source.shape[axis]) for axis in axes)
    result = REDUCE[op.name](source.dtype.name, frame.array(op.operands[0]), axes, extents)
    return np.asarray(result).reshape(frame.shape(result_type(op).shape))


def _topk(op: Op, frame: Frame) -> None:
    k, source = op.attrs["k"], frame.array(op.operands[0])
    assert isinstance(k, int)
    if source.shape[axis_of(op)] < k:
        raise InterpreterError(f"{k} of an axis of {source.shape[axis_of(op)]}", op.location)
    found = reference_orders.topk(tile_type(op).dtype.name, source, k, axis_of(op))
    for value, array in zip(op.results, found, strict=True):
        frame.values[id(value)] = array


def _scan(op: Op, frame: Frame) -> Raw:
    """A scan of a whole axis, or of one chunk after those before it."""
    axis, reverse, exclusive = op.attrs["axis"], op.attrs["reverse"], op.attrs["exclusive"]
    assert isinstance(axis, int) and isinstance(reverse, bool) and isinstance(exclusive, bool)
    before = frame.carried.get(id(op)) if op.attrs.get("carried") else None
    source = frame.array(op.operands[0])
    found, total = SCANS[op.name](tile_type(op).dtype.name, source, axis, before, reverse=reverse, exclusive=exclusive)
    frame.carried[id(op)] = total
    return found


def _run_grid(op: Op, frame: Frame) -> None:
    for inner in grid_frames(op, frame):
        _run(op.regions[0].ops, inner)
    if frame.orders is not None:
        frame.orders.end_grid()


def _run_stream(op: Op, frame: Frame) -> None:
    """Run every chunk, then reduce what the chunks yielded as one tile over the whole axis."""
    region = op.regions[0]
    block, last = block_type(region.args[0]), region.ops[-1]
    extent = frame.shape([block.extent])[0]
    kinds, axes = attr_tuple(op, "kinds"), [int(str(axis)) for axis in attr_tuple(op, "axes")]
    yielded: list[list[Raw]] = [[] for _ in kinds]
    chunks, carried = blocks_between(extent, block.block) or (Block(0, 0, 0),), dict[int, Raw]()
    for chunk in reversed(chunks) if op.attrs.get("reverse") else chunks:
        sizes = frame.sizes | {block.name: chunk.stop - chunk.start}
        inner = Frame(dict(frame.values), sizes, frame.static, frame.free_block, frame.scattered, carried, frame.orders)
        inner.values[id(region.args[0])] = chunk
        _run(region.ops, inner)
        for tiles, value in zip(yielded, last.operands, strict=True):
            tiles.append(inner.array(value))
    whole = op.attrs.get("whole", block.extent if isinstance(block.extent, int) else None)
    assert whole is None or isinstance(whole, int)
    for kind, axis, value, tiles, result in zip(kinds, axes, last.operands, yielded, op.results, strict=True):
        assert isinstance(value.type, TileType)
        joined = np.concatenate(tiles, axis)
        reduced = REDUCE[str(kind)](value.type.dtype.name, joined, (axis,), (whole,))
        frame.values[id(result)] = np.asarray(reduced)
