"""Drop repeated, trivial and unused operations of TILE. Never changes a rounding."""

from dataclasses import replace

from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.passes.rewrite import rewrite

_EFFECTS = frozenset({"reads", "writes"})
_KEPT = frozenset({"writes", "region"})
_TRIVIAL = ("broadcast", "reshape", "cast", "transpose")


def _is_pure(op: Op) -> bool:
    return len(op.results) == 1 and not op.regions and not op.spec.traits & _EFFECTS and op.spec.name != "yield"


def _is_repeatable(op: Op) -> bool:
    """Whether doing it again gives the same: it computes only, or reads what no kernel writes."""
    if op.name == "load":
        tensor = op.operands[0].type
        return isinstance(tensor, TensorType) and tensor.access == "in"
    return _is_pure(op)


def _is_trivial(op: Op) -> bool:
    if op.spec.name not in _TRIVIAL or op.operands[0].type != op.result.type:
        return False
    if op.name == "transpose":
        permutation = op.attrs["permutation"]
        assert isinstance(permutation, tuple)
        return permutation == tuple(range(len(permutation)))
    return True


def _key(op: Op) -> tuple[object, ...]:
    attrs = tuple([(name, type(value), repr(value)) for name, value in op.attrs.items()]) if op.attrs else ()
    return (op.spec.name, op.operands, attrs, op.result.type)


def _common(region: Region, seen: dict[tuple[object, ...], Value], mapped: dict[Value, Value]) -> Region:
    """Replace an operation equal to one before it, in this region or around it."""
    seen = dict(seen)
    kept: list[Op] = []
    for op in region.ops:
        changed = any([v in mapped for v in op.operands]) if mapped else False
        if changed or op.regions:
            operands = tuple([mapped.get(v, v) for v in op.operands])
            regions = tuple([_common(r, seen, mapped) for r in op.regions])
            op = Op(op.spec, operands, op.attrs, op.results, regions, op.location)
        if _is_repeatable(op):
            key = _key(op)
            if key in seen:
                mapped[op.result] = seen[key]
                continue
            seen[key] = op.result
        kept.append(op)
    return Region(region.args, tuple(kept))


def _used(region: Region, live: set[Value]) -> Region:
    """Drop operations whose results nobody uses."""
    kept: list[Op] = []
    for op in reversed(region.ops):
        regions: tuple[Region, ...] = tuple([_used(r, live) for r in op.regions]) if op.regions else ()
        wanted = not live.isdisjoint(op.results) or op.spec.traits & _KEPT or op.spec.name == "yield"
        if not wanted or (op.name == "grid" and not any(region.ops for region in regions)):
            continue
        if op.regions:
            op = Op(op.spec, op.operands, op.attrs, op.results, regions, op.location)
        live.update(op.operands)
        kept.append(op)
    return Region(region.args, tuple(reversed(kept)))


def share_repeated(kernel: Kernel) -> Kernel:
    """Do repeated operations once; nothing else changes, unused ones stay."""
    return replace(kernel, body=_common(Region((), kernel.body), {}, {}).ops)


def simplify(kernel: Kernel) -> Kernel:
    """Drop moves that move nothing, repeated pure operations and dead ones."""

    def trivial(op: Op, builder: Builder) -> tuple[Value, ...] | None:
        del builder
        return (op.operands[0],) if _is_trivial(op) else None

    body = Region((), rewrite(kernel, trivial).body)
    body = _used(_common(body, {}, {}), set())
    return replace(kernel, body=body.ops)
