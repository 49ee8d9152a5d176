"""Read an input where a call keeps an output: in the memory that the two share.

What reads the input then reads the output, which is an `inout` tensor: later passes keep its loads and stores in the
program's order. Whether that gives the same values is `proofs/in_place.py`'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentkern.compiler.ir.core import Kernel, Op, Region, Value
from agentkern.compiler.ir.types import TensorType


def share_memory(kernel: Kernel, pairs: Sequence[tuple[str, str]]) -> Kernel:
    """The kernel for calls in which each pair's output is its input."""
    if not pairs:
        return kernel
    by_name = {value.name: value for value in kernel.params}
    changed: dict[Value, Value] = {}
    for output, source in pairs:
        value = by_name[output]
        assert isinstance(value.type, TensorType)
        changed.setdefault(value, Value(replace(value.type, access="inout"), value.name))
        changed[by_name[source]] = changed[value]
    params = tuple(changed[v] if v.name in dict(pairs) else v for v in kernel.params)
    return replace(kernel, params=params, body=tuple(_moved(op, changed) for op in kernel.body))


def _moved(op: Op, changed: Mapping[Value, Value]) -> Op:
    operands = tuple(changed.get(value, value) for value in op.operands)
    regions = tuple(Region(region.args, tuple(_moved(inner, changed) for inner in region.ops)) for region in op.regions)
    return Op(op.spec, operands, op.attrs, op.results, regions, op.location)
