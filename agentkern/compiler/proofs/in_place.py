"""May a call pass one tensor as an input and as an output? Only where every element is read before it is written.

A block may read what it writes itself, as long as it reads first; what another block writes, or an earlier grid, is
lost to it.
"""

from __future__ import annotations

from agentkern.compiler.analysis.accesses import Access, Scope, kernel_facts
from agentkern.compiler.ir.core import Kernel, Value
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.proofs.disjoint import meetings


def not_in_place(kernel: Kernel, output: str, source: str) -> str | None:
    """Why the input `source` may not be the output `output`; None where it may."""
    by_name = {value.name: value for value in kernel.params}
    tables = [name for name in (output, source) if name not in by_name]
    if tables:
        return f"`{tables[0]}` is of a list that a run-time number picks from"
    written, read = by_name[output], by_name[source]
    if not _are_alike(written, read):
        return f"`{output}` and `{source}` differ in dtype, sizes or strides"
    earlier: Access | None = None
    for scope in kernel_facts(kernel).scopes:
        loads = [access for access in scope.accesses if access.tensor is read]
        stores = [access for access in scope.accesses if access.tensor is written and access.writes]
        if scope.grid is not None and read in scope.grid.operands and (stores or earlier):
            return f"`{source}` numbers the blocks of a grid, and is written"
        if earlier is not None and loads:
            return f"`{loads[0].text}` is read by a later grid than `{earlier.text}` is written"
        for load in loads:
            for store in stores:
                reason = _clash(scope, load, store)
                if reason is not None:
                    return reason
        earlier = stores[0] if stores else earlier
    return None


def in_place_pairs(kernel: Kernel) -> tuple[tuple[str, str], ...]:
    """Every output that may be an input, with the first such input that is none other's."""
    tensors = [(v.name or "", v.type) for v in kernel.params if isinstance(v.type, TensorType) and not v.type.table]
    sources = [name for name, type_ in tensors if type_.access == "in"]
    found: dict[str, str] = {}
    for output in [name for name, type_ in tensors if type_.access == "out"]:
        free = [name for name in sources if name not in found.values()]
        source = next((name for name in free if not_in_place(kernel, output, name) is None), None)
        found.update({output: source} if source is not None else {})
    return tuple(found.items())


def _are_alike(a: Value, b: Value) -> bool:
    x, y = a.type, b.type
    assert isinstance(x, TensorType)
    assert isinstance(y, TensorType)
    return (x.dtype, x.shape, x.strides, x.aligned) == (y.dtype, y.shape, y.strides, y.aligned)


def _clash(scope: Scope, load: Access, store: Access) -> str | None:
    """Why a load and a store of one grid may not be of one tensor."""
    found = meetings(scope, load, store)
    if "never" in found:
        return None
    if store.is_atomic or "same block" not in found:
        return f"`{load.text}` may read what another block, or another step, writes to `{store.text}`"
    order = {op: number for number, op in enumerate(scope.ops)}
    if order[load.op] > order[store.op]:
        return f"`{load.text}` is read after `{store.text}` is written"
    return None
