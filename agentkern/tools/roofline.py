"""The least that any correct program of a kernel's results must do: bytes in and out once, and its arithmetic.

Counts a TILE kernel's operations over the whole of their grid; knows nothing of what a cleverer program could save.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.targets.limits import REFERENCE_DEVICES
from agentkern.runtime.timing import Ceilings, Work, floor_us
from agentkern.tools.results import Roofline

# Float operations per element; the others count as none: moving, comparing and converting are not what binds.
_FLOPS: Mapping[str, int] = {
    "add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2, "maximum": 1, "minimum": 1, "sqrt": 1, "rsqrt": 1,
    **dict.fromkeys(FUNCTIONS, 1),
    "sum": 1, "prod": 1, "mean": 1, "max": 1, "min": 1, "absmax": 1, "argmax": 1, "argmin": 1, "cumsum": 1, "cummax": 1,
}  # fmt: skip


def roofline(kernel: Kernel, sizes: Mapping[str, int], target: str) -> Roofline:
    """Return bytes, flops and the floor on the target's reference device; None for what needs a size not given."""
    work = kernel_work(kernel, sizes)
    if work is None:
        return Roofline(bytes=None, flops=None, floor_us=None)
    device = REFERENCE_DEVICES[target]
    copy = device.copy_bytes_per_s or device.memory_bytes_per_s
    ceilings = Ceilings(copy, device.memory_bytes_per_s, device.l2_bytes, device.fp32_flops)
    floor = round(floor_us(work, ceilings), 3)
    return Roofline(bytes=work.bytes_moved, flops=int(work.flops), floor_us=floor)


def kernel_work(kernel: Kernel, sizes: Mapping[str, int]) -> Work | None:
    """Return the work of one call, None if `sizes` lacks a size that it depends on."""
    tensors = [param.type for param in kernel.params if isinstance(param.type, TensorType)]
    read = _total(tuple(_bytes(t) for t in tensors if t.access in ("in", "inout")), sizes)
    written = _total(tuple(_bytes(t) for t in tensors if t.access in ("out", "inout")), sizes)
    flops = _total(tuple(_grid_flops(op) for op in kernel.body if op.name == "grid"), sizes)
    if read is None or written is None or flops is None:
        return None
    return Work(read, written, float(flops))


def _bytes(tensor: TensorType) -> int | Dim:
    return dims.mul(dims.product(tensor.shape), tensor.dtype.nbytes)


def _grid_flops(grid: Op) -> int | Dim:
    """Arithmetic of all blocks: a tile along a block's axis is as long as the axis, over all blocks together."""
    blocks = [arg.type for arg in grid.regions[0].args if isinstance(arg.type, BlockType)]
    whole = {block.name: block.extent for block in blocks}
    total: int | Dim = 0
    for op in walk(grid.regions[0].ops):
        if op.name not in _FLOPS or not isinstance(op.operands[0].type, TileType):
            continue
        shape = op.operands[0].type.shape
        elements = dims.substitute(dims.product(shape), whole)
        used = {name for extent in shape for name in dims.symbols(extent)}
        # An operation without a written block's axis is done once for each of its blocks.
        for block in blocks:
            if block.block is not None and block.name not in used:
                elements = dims.mul(elements, dims.cdiv(block.extent, block.block))
        total = dims.add(total, dims.mul(elements, _FLOPS[op.name]))
    return total


def _total(amounts: tuple[int | Dim, ...], sizes: Mapping[str, int]) -> int | None:
    total: int | Dim = 0
    for amount in amounts:
        total = dims.add(total, amount)
    if any(name not in sizes for name in dims.symbols(total)):
        return None
    return dims.evaluate(total, sizes)
