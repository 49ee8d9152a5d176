"""Run a TILE kernel in NumPy: the oracle that every other way of running a kernel must equal bit for bit.

A block whose size the compiler chooses is run in pieces of any size (bits do not depend on it); written blocks are run
one after another. Tiles hold present positions only: the last block of an axis is just shorter. Shares no code with the
lowering and must not import it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from agentkern.compiler.ir import dims, reference_orders
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.interpreter_access import update_elements
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.interpreter_loops import FREE_STEP, run_branch, run_loop
from agentkern.compiler.ir.interpreter_moves import MOVES, attr_tuple, axis_of, store
from agentkern.compiler.ir.interpreter_ops import ELEMENT, REDUCE, SCANS, constant, distinct, result_type, tile_type
from agentkern.compiler.ir.interpreter_requirements import RequirementError, require
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.compiler.ir.types import BlockType, TensorType, TileType

__all__ = ["InterpreterError", "RequirementError", "interpret"]

PIECE_ELEMS = 1 << 19
"""Elements of the largest tile of a piece of a free block: half a million f32 stay in a host's L2 and L3 caches."""


def interpret(
    kernel: Kernel,
    tensors: Mapping[str, Raw],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float | bool],
    *,
    free_block: int | None = None,
) -> None:
    """Run `kernel` (TILE) over raw storage arrays, writing those of Out and InOut parameters in place.

    tensors: by parameter name, in the storage of `reference_formats.py`; scratch may be left out. sizes: every run-time
    size. free_block: the size of blocks that the compiler chooses, for tests; None takes what runs fast.
    Errors: InterpreterError when an argument is missing or misshapen, or an index is out of range.
    """
    static = {info.name: sizes[info.name] for info in kernel.sizes if info.static and info.name in sizes}
    frame = Frame({}, dict(sizes), static, free_block)
    for param in kernel.params:
        frame.values[id(param)] = _argument(param, frame, tensors, scalars)
    _run(kernel.body, frame)


def _argument(param: Value, frame: Frame, tensors: Mapping[str, Raw], scalars: Mapping[str, int | float | bool]) -> Raw:
    name = param.name or ""
    if isinstance(param.type, TileType):
        if name not in scalars:
            raise InterpreterError(f"scalar `{name}` has no value")
        return constant(param.type.dtype.name, scalars[name])
    assert isinstance(param.type, TensorType)
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


def _run(ops: Sequence[Op], frame: Frame) -> None:
    for op in ops:
        if op.name == "grid":
            _run_grid(op, frame)
        elif op.name == "store":
            store(op, frame)
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
    region = op.regions[0]
    types = [_block_type(value) for value in region.args]
    extents = frame.shape([type_.length for type_ in types])
    if any(extent <= 0 for extent in extents):
        return
    static = {t.name: t.block for t in types if t.block is not None}
    pieces = [t.block or frame.free_block for t in types]
    if None in pieces:
        # only the first free axis is cut; the others are run whole
        pieces[pieces.index(None)] = _piece(region, types, extents, frame)
    firsts = frame.shape([type_.first for type_ in types])
    axes = [_blocks(*axis) for axis in zip(extents, pieces, firsts, strict=True)]
    scattered: dict[int, Raw] = {}
    for blocks in itertools.product(*axes):
        current = {t.name: b.stop - b.start for t, b in zip(types, blocks, strict=True)}
        current |= {f"{t.name}.ordinal": b.ordinal for t, b in zip(types, blocks, strict=True)}
        sizes, known = frame.sizes | current, frame.static | static
        inner = Frame(dict(frame.values), sizes, known, frame.free_block, scattered)
        inner.values.update({id(value): block for value, block in zip(region.args, blocks, strict=True)})
        _run(region.ops, inner)


def _run_stream(op: Op, frame: Frame) -> None:
    """Run every chunk, then reduce what the chunks yielded as one tile over the whole axis."""
    region = op.regions[0]
    block, last = _block_type(region.args[0]), region.ops[-1]
    extent = frame.shape([block.extent])[0]
    kinds, axes = attr_tuple(op, "kinds"), [int(str(axis)) for axis in attr_tuple(op, "axes")]
    yielded: list[list[Raw]] = [[] for _ in kinds]
    chunks, carried = _blocks(extent, block.block) or (Block(0, 0, 0),), dict[int, Raw]()
    for chunk in reversed(chunks) if op.attrs.get("reverse") else chunks:
        sizes = frame.sizes | {block.name: chunk.stop - chunk.start}
        inner = Frame(dict(frame.values), sizes, frame.static, frame.free_block, frame.scattered, carried)
        inner.values[id(region.args[0])] = chunk
        _run(region.ops, inner)
        for tiles, value in zip(yielded, last.operands, strict=True):
            tiles.append(inner.array(value))
    whole = block.extent if isinstance(block.extent, int) else None
    for kind, axis, value, tiles, result in zip(kinds, axes, last.operands, yielded, op.results, strict=True):
        assert isinstance(value.type, TileType)
        joined = np.concatenate(tiles, axis)
        reduced = REDUCE[str(kind)](value.type.dtype.name, joined, (axis,), (whole,))
        frame.values[id(result)] = np.asarray(reduced)


def _block_type(value: Value) -> BlockType:
    assert isinstance(value.type, BlockType)
    return value.type


def _blocks(extent: int, piece: int | None, first: int = 0) -> tuple[Block, ...]:
    step = piece or max(extent, 1)
    return tuple(Block(first + k, first + min(k + step, extent), k // step) for k in range(0, extent, step))


def _piece(region: Region, types: list[BlockType], extents: tuple[int, ...], frame: Frame) -> int:
    """How many indices of the first free axis keep the largest tile of the body near PIECE_ELEMS."""
    cut = next(k for k, t in enumerate(types) if t.block is None)
    whole = {t.name: t.block or extent for t, extent in zip(types, extents, strict=True)}
    inner = [arg.type for op in walk(region.ops) for nested in op.regions for arg in nested.args]
    steps = {t.name: t.block or FREE_STEP for t in inner if isinstance(t, BlockType)}
    numbers = {f"{t.name}.ordinal": 0 for t in types}
    sizes = frame.sizes | steps | whole | {types[cut].name: 1} | numbers
    largest = max((math.prod(_numbers(shape, sizes)) for shape in _tile_shapes(region)), default=1)
    return max(PIECE_ELEMS // max(largest, 1), 1)


def _numbers(shape: tuple[int | Dim, ...], sizes: Mapping[str, int]) -> Iterator[int]:
    return (dims.evaluate(extent, sizes) for extent in shape)


def _tile_shapes(region: Region) -> Iterator[tuple[int | Dim, ...]]:
    for op in walk(region.ops):
        for value in op.results:
            if isinstance(value.type, TileType):
                yield value.type.shape
