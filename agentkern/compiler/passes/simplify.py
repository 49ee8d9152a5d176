"""Drop repeated, trivial and unused operations of TILE. Never changes a rounding."""

from dataclasses import replace

from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.passes.rewrite import rewrite

_EFFECTS = frozenset({"reads", "writes", "checks"})
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


def _acts(op: Op) -> bool:
    """Whether an operation does more than give its results."""
    if not op.regions:
        return not op.spec.traits.isdisjoint(("writes", "checks"))
    return any(_acts(inner) for region in op.regions for inner in region.ops)


def _used(region: Region, live: set[Value]) -> Region:
    """Drop operations whose results nobody uses."""
    kept: list[Op] = []
    for op in reversed(region.ops):
        if live.isdisjoint(op.results) and not _acts(op) and op.name != "yield":
            continue
        if op.name in ("loop", "branch"):
            op = _used_results(op, live)
        elif op.regions:
            regions = tuple([_used(r, live) for r in op.regions])
            op = Op(op.spec, op.operands, op.attrs, op.results, regions, op.location)
        live.update(op.operands)
        kept.append(op)
    return Region(region.args, tuple(reversed(kept)))


def _used_results(op: Op, live: set[Value]) -> Op:
    """A loop or a choice with the results that are used, and in it what those need: a loop's from step to step."""
    parts = loop_parts(op) if op.name == "loop" else None
    wanted = {k for k, result in enumerate(op.results) if result in live}
    while True:
        inner = set(live)
        regions = tuple([_used(_yielding(region, wanted, len(op.results)), inner) for region in op.regions])
        more = {k for k, arg in enumerate(parts.args) if arg in inner} - wanted if parts is not None else set[int]()
        if not more:
            break
        wanted |= more
    live.update(inner)
    order = sorted(wanted)
    operands = op.operands
    if parts is not None:
        operands = (*parts.limits, *(parts.inits[k] for k in order))
        args = (parts.block, *(parts.args[k] for k in order))
        regions = (Region(args, regions[0].ops),)
    return Op(op.spec, operands, op.attrs, tuple(op.results[k] for k in order), regions, op.location)


def _yielding(region: Region, wanted: set[int], count: int) -> Region:
    """The region, giving only some of its values; what ends a loop stands behind them and stays."""
    last = region.ops[-1]
    given = tuple(value for k, value in enumerate(last.operands) if k in wanted or k >= count)
    return Region(region.args, (*region.ops[:-1], Op(last.spec, given, last.attrs, (), (), last.location)))


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
