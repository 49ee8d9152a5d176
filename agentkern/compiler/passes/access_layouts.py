"""The layouts that an access asks of its tiles of indices and of its mask. Facts only."""

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of, index_operands, mask_of
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import REPLICATED, Layout, restricted


def operand_layouts(op: Op, layout: Layout) -> dict[int, Layout]:
    """By operand number: each tile spread as the axes are that it stands for; `layout` is that of the access' tile."""
    first = FIXED_OPERANDS[op.name]
    found: dict[int, Layout] = {}
    for entry in entries_of(op):
        if entry.operand is not None and not entry.is_block and entry.tile_axes:
            assert isinstance(entry.operand.type, TileType)
            axes = [
                REPLICATED if extent == 1 else axis
                for axis, extent in zip(entry.tile_axes, entry.operand.type.shape, strict=True)
            ]
            found[first + int(entry.text[1:])] = restricted(layout, axes)
    mask = mask_of(op)
    if mask is not None and isinstance(mask.type, TileType) and mask.type.shape:
        found[first + len(index_operands(op))] = layout
    return found
