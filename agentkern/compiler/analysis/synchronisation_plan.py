"""Which operations of a GPU-stage function synchronisation depends on: events, and the arithmetic behind their numbers.

Everything else, the data, is left out of the run (`synchronisation_trace.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.gpu_async_ops import GPU_ASYNC_OPS
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray

_SHARED_ACCESSES = frozenset({"load_vector", "store_vector", "load_matrix", "store_matrix", "copy_async"})
_ARRAY_USES = frozenset({"get", "set", "registers", "mma", "usual"}) | _SHARED_ACCESSES
_QUIET = frozenset({"tensor_map", "prefetch_map", "mbarriers", "descriptor", "pack_pair", "mma"})
_CONTROL = ("if", "if_else", "for")
SORTS = frozenset({"fill_slots", "sort_slots", "sort_memory"})
"""Operations at whose end all threads of a block meet, and in which they write one another's shared memory."""
_PLAIN = frozenset({"barrier", "shuffle_xor", "load_vector", "store_vector"}) | SORTS
_ALWAYS = (frozenset(GPU_ASYNC_OPS) - _QUIET - {"elect"}) | {"barrier", "shuffle_xor"} | SORTS


def product_arrays(ops: Sequence[Op]) -> frozenset[Value]:
    """Register arrays that asynchronous products read or write."""
    return frozenset(
        v for op in walk(ops) if op.name == "wgmma" for v in op.operands[:2] if isinstance(v.type, RegisterArray)
    )


def is_shared(value: Value) -> bool:
    """Whether a value points to shared memory."""
    return isinstance(value.type, Pointer) and value.type.space == "shared"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which operations of a function to run: `kept` by the region's or function's operations.

    `nested`: loops in loops, and those around, of a function whose threads meet at barriers of the whole block alone:
    nothing there lives on from one turn to the next but one.
    """

    function: Op
    needed: frozenset[Value]
    kept: Mapping[int, tuple[Op, ...]]
    products: frozenset[Value]
    once: frozenset[int]
    nested: frozenset[int] = frozenset()


def is_event(op: Op, products: frozenset[Value]) -> bool:
    """Whether an operation takes part in synchronisation."""
    if op.name in _ALWAYS:
        return True
    if op.name in _SHARED_ACCESSES and is_shared(op.operands[0]):
        return True
    return op.name in _ARRAY_USES and any(v in products for v in (*op.operands, *op.results))


def _operands_needed(op: Op, needed: set[Value], products: frozenset[Value]) -> tuple[Value, ...]:
    """The operands of an operation that must be known for it to be run."""
    if op.name == "shuffle_xor":
        return ()
    if op.name == "set":
        return op.operands[1:] if op.operands[0] in needed else ()
    if op.name == "get":
        return op.operands if op.result in needed else ()
    if op.name in _SHARED_ACCESSES:
        return op.operands[:2] if is_shared(op.operands[0]) else ()
    if op.name in SORTS:
        return tuple(v for v in op.operands if is_shared(v))
    if op.name == "wgmma":
        return tuple(v for v in op.operands if v not in products)
    return op.operands


def _is_kept(op: Op, needed: set[Value], products: frozenset[Value]) -> bool:
    if is_event(op, products) or any(v in needed for v in op.results):
        return True
    if op.name == "set" or op.name.startswith("load_"):
        return any(v in needed for v in op.operands if isinstance(v.type, RegisterArray))
    return any(_is_kept(inner, needed, products) for region in op.regions for inner in region.ops)


def plan_function(function: Op) -> Plan:
    """Find what synchronisation depends on."""
    body = function.regions[0].ops
    products = product_arrays(body)
    needed: set[Value] = set()
    while True:
        before = len(needed)
        for op in walk(body):
            if _is_kept(op, needed, products):
                needed.update(_operands_needed(op, needed, products))
        if len(needed) == before:
            break
    kept: dict[int, tuple[Op, ...]] = {}
    once: set[int] = set()
    for op in (function, *walk(body)):
        for region in op.regions:
            kept[id(region)] = tuple(inner for inner in region.ops if _is_kept(inner, needed, products))
        if op.name == "for" and _only_uses(op, needed, products):
            once.add(id(op))
    plain = not products and all(op.name in _PLAIN or not is_event(op, products) for op in walk(body))
    nested = _nested(body, kept) if plain else frozenset[int]()
    return Plan(function, frozenset(needed), kept, products, frozenset(once), nested)


def _nested(body: Sequence[Op], kept: Mapping[int, tuple[Op, ...]]) -> frozenset[int]:
    """Loops of turns at run time that hold such loops or are held by one, as far as they are run."""
    found: set[int] = set()
    for outer in walk(body):
        inside = [op for op in walk(kept[id(outer.regions[0])]) if _is_rolled(op)] if _is_rolled(outer) else []
        found.update(map(id, (outer, *inside) if inside else ()))
    return frozenset(found)


def _is_rolled(op: Op) -> bool:
    return op.name == "for" and not op.attrs.get("unroll")


def _only_uses(loop: Op, needed: set[Value], products: frozenset[Value]) -> bool:
    """Whether a loop only reads and changes register arrays, so that one turn shows all that it does."""
    return all(
        op.name in ("get", "set", "shuffle_xor", *_CONTROL)
        and not any(v in needed for v in (*op.operands, *op.results) if isinstance(v.type, RegisterArray))
        for op in walk(loop.regions[0].ops)
        if op.name not in _CONTROL and _is_kept(op, needed, products)
    )
