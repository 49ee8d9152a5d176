"""`ak.segments(offsets)` as an axis of a grid, and `.blocks()`: blocks of rows that never cross a segment."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.ranges import block_size, callee_is
from agentkern.compiler.frontend.values import BlockVar, Tensor, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.diagnostics import Fix

FORM = "ak.segments(offsets)` or `ak.segments(offsets).blocks(block=64)"


@dataclass(frozen=True, slots=True)
class Ragged:
    """Segments of indices, which end at `end`. `rows`: the call that asks for blocks of their rows, of size `block`."""

    offsets: Tensor
    end: int | Dim
    rows: ast.Call | None = None
    block: int | None = None

    @property
    def count(self) -> int | Dim:
        """How many segments there are."""
        return dims.add(self.offsets.type.shape[0], -1)


def ragged_range(lw: Lowering, node: ast.expr) -> Ragged | None:
    """The segments that an argument of `ak.grid` asks for; None where it is something else. Errors: AK122, AK411."""
    if not isinstance(node, ast.Call):
        return None
    if callee_is(lw, node.func, "segments"):
        return _segments(lw, node)
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(inner, ast.Call) or not callee_is(lw, inner.func, "segments"):
        return None
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr != "blocks":
        reason = f"segments have no `.{node.func.attr}`"
        lw.fail("AK122", node, name="ak.segments", reason=reason, form=FORM)
    words = {keyword.arg: keyword.value for keyword in node.keywords}
    if node.args or words.keys() - {"block"}:
        reason = "`.blocks` takes `block=` alone"
        lw.fail("AK122", node, name="ak.segments", reason=reason, form=FORM)
    block = block_size(lw, lw.need_one(words["block"]), words["block"]) if words else None
    found = _segments(lw, inner)
    return Ragged(found.offsets, found.end, node, block)


def _segments(lw: Lowering, node: ast.Call) -> Ragged:
    if node.keywords or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        lw.fail("AK122", node, name="ak.segments", reason="it takes one tensor of offsets", form=FORM)
    found = lw.need_one(node.args[0])
    if not isinstance(found, Tensor):
        lw.fail("AK411", node.args[0], what=describe(found))
    type_, what = found.type, f"`{found.name}`"
    if found.entry is not None:
        what = f"`{lw.source.text_of(node.args[0])}`, of a list that a run-time number picks from,"
        lw.fail("AK411", node.args[0], what=what, hint="give the offsets as a parameter of their own")
    if type_.access != "in":
        lw.fail("AK411", node.args[0], what=f"{what}, which is no `ak.In`")
    if found.view:
        what = f"`{lw.source.text_of(node.args[0])}`, a view"
        lw.fail("AK411", node.args[0], what=what, hint=f"give the parameter itself: `{found.name}`")
    if type_.dtype.name == "u64":
        lw.fail("AK411", node.args[0], what=f"{what} of u64", hint="offsets are i32 or i64")
    for name, kind, *values in lw.promises:
        if (name, kind) == (found.name, "offsets") and isinstance(values[0], int | Dim):
            return Ragged(found, values[0])
    lw.fail("AK411", node.args[0], what=what, fixes=_promise(lw, found))


def _promise(lw: Lowering, tensor: Tensor) -> tuple[Fix, ...]:
    """The fix that promises offsets into the first axis of the first tensor that has a size of its own for it."""
    annotation = lw.annotations.get(tensor.name)
    shapes = [other.type.shape for other in lw.scopes[1].values() if isinstance(other, Tensor) and other != tensor]
    ends = [str(shape[0]) for shape in shapes if shape and str(shape[0]).isidentifier()]
    if annotation is None or not ends or tensor.type.rank != 1 or not tensor.type.dtype.is_integer:
        return ()
    return (lw.source.insert_after(annotation, f".offsets({ends[0]})", f"promise offsets that end at `{ends[0]}`"),)


def forgotten_blocks(lw: Lowering, node: ast.expr, count: int) -> tuple[Fix, ...]:
    """The fix for `ak.segments(...)` that is unpacked in two: `.blocks()` gives pairs."""
    is_segments = isinstance(node, ast.Call) and callee_is(lw, node.func, "segments")
    return (lw.source.insert_after(node, ".blocks()", "take blocks of rows"),) if is_segments and count == 2 else ()


def written_rows(lw: Lowering, call: ast.Call) -> tuple[Fix, ...]:
    """The fix that writes the block of `.blocks()`."""
    if call.keywords:
        return ()
    return (lw.source.insert_before_end(call, "block=128", "write a block of 128"),)


def check_whole(lw: Lowering, block: BlockVar, node: ast.expr, extent: int | Dim) -> None:
    """Reject a segment in the place of its number: on an axis that has one element for each. Errors: AK412."""
    if block.segment is not None and extent == block.type.extent and extent != block.segment:
        fixes = (lw.source.insert_after(node, ".ordinal", "take the segment's number"),)
        lw.fail("AK412", node, block=block.name, fixes=fixes)
