"""Asynchronous operations of the GPU stage as table rows: barriers, the copy engine, tensor-core products, warp roles.

One row prints as one prelude function. Byte counts, barrier counts and instruction names are attributes, so that the
verifier and the synchronisation checker read them without knowing any code. Source: PTX ISA, sections "mbarrier",
"cp.async.bulk", "wgmma".
"""

from __future__ import annotations

import re

from agentkern.compiler.ir.core import Op, OpSpec, Stage, VerifyRule
from agentkern.compiler.ir.gpu_types import Mbarriers, Pointer, RegisterArray, TensorMap, Token
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.targets.instructions_barriers import REGISTER_COUNTS
from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from agentkern.dsl.dtypes import DTYPES

GPU: frozenset[Stage] = frozenset({"gpu"})
WGMMA_NAME = re.compile(r"m64n(\d+)k(\d+)_(f32|s32)_(\w+?)_(ss|rs)(_at)?(_bt)?$")
MMA_NAME = re.compile(r"m16n8k(\d+)_(f32|s32)_(\w+)$")


def _barriers(op: Op) -> str | None:
    return None if isinstance(op.operands[0].type, Mbarriers) else "the first operand is not a barrier array"


def _declares_barriers(op: Op) -> str | None:
    barriers, offset = op.result.type, op.attrs["offset"]
    if not isinstance(barriers, Mbarriers) or barriers.arrivals <= 0:
        return "declares what is not a barrier array"
    if not isinstance(offset, int) or offset % 8:
        return f"barriers at byte {offset}, not a multiple of 8"
    return None


def _expects(op: Op) -> str | None:
    nbytes = op.attrs["bytes"]
    if not isinstance(nbytes, int) or not 0 < nbytes < 1 << 20 or nbytes % 16:
        return f"expects {nbytes} bytes, not a multiple of 16 below 2^20"
    return _barriers(op)


def _shared_pointer(op: Op, k: int) -> str | None:
    pointer = op.operands[k].type
    if not isinstance(pointer, Pointer) or pointer.space != "shared":
        return f"operand {k} is not a pointer to shared memory"
    return None


def _tensor_map(op: Op) -> str | None:
    tensor, map_ = op.operands[0].type, op.result.type
    if not isinstance(tensor, TensorType) or not isinstance(map_, TensorMap):
        return "maps a tensor parameter"
    if tensor.dtype is not map_.dtype or tensor.rank != len(map_.box):
        return f"a box of {len(map_.box)} axes of {map_.dtype} for {tensor}"
    row_bytes = map_.box[-1] * map_.dtype.nbytes
    if map_.swizzle not in SWIZZLES or (map_.swizzle and row_bytes != map_.swizzle):
        return f"swizzle {map_.swizzle} of boxes with rows of {row_bytes} bytes"
    if row_bytes % 16 or not all(1 <= extent <= 256 for extent in map_.box):
        return f"a box of {list(map_.box)}: rows are multiples of 16 bytes, extents 1 to 256"
    return None


def _copies_box(op: Op, map_at: int, pointer_at: int, coordinates: int) -> str | None:
    map_ = op.operands[map_at].type
    if not isinstance(map_, TensorMap):
        return f"operand {map_at} is not a tensor map"
    if coordinates != len(map_.box):
        return f"{coordinates} coordinates for a box of {len(map_.box)} axes"
    pointer = op.operands[pointer_at].type
    if isinstance(pointer, Pointer) and pointer.dtype is not map_.dtype:
        return f"copies {map_.dtype} to or from {pointer.dtype}"
    return _shared_pointer(op, pointer_at)


def _tma_load(op: Op) -> str | None:
    """Operands: pointer, element offset, map, barriers, which one, coordinates (outermost first)."""
    if len(op.operands) < 6:
        return "takes pointer, offset, map, barriers, index and coordinates"
    if not isinstance(op.operands[3].type, Mbarriers):
        return "operand 3 is not a barrier array"
    return _copies_box(op, 2, 0, len(op.operands) - 5)


def _tma_store(op: Op) -> str | None:
    """Operands: map, pointer, element offset, coordinates (outermost first)."""
    if len(op.operands) < 4:
        return "takes map, pointer, offset and coordinates"
    return _copies_box(op, 0, 1, len(op.operands) - 3)


def _descriptor(op: Op) -> str | None:
    if op.result.type != TileType(DTYPES["u64"]):
        return "a descriptor is u64"
    if op.attrs["swizzle"] not in SWIZZLES:
        return f"there is no swizzle {op.attrs['swizzle']}"
    for name in ("leading", "stride"):
        nbytes = op.attrs[name]
        if not isinstance(nbytes, int) or nbytes % 16 or not 0 <= nbytes < 1 << 18:
            return f"{name} bytes {nbytes}, not a multiple of 16 below 2^18"
    return _shared_pointer(op, 0)


def _registers(op: Op, k: int, count: int, kinds: tuple[str, ...]) -> str | None:
    array = op.operands[k].type
    if not isinstance(array, RegisterArray) or array.count != count or array.dtype.name not in kinds:
        return f"operand {k} is {array}, not {count} of {' or '.join(kinds)}"
    return None


def _wgmma(op: Op) -> str | None:
    """Operands: accumulator, A (descriptor or registers), B descriptor, whether the accumulator is added."""
    match = WGMMA_NAME.match(str(op.attrs["instruction"]))
    if match is None or int(match[1]) % 8 or not 8 <= int(match[1]) <= 256:
        return f"no instruction `{op.attrs['instruction']}`"
    wrong = _registers(op, 0, int(match[1]) // 2, ("f32",) if match[3] == "f32" else ("i32",))
    if wrong is None and match[5] == "rs":
        return _registers(op, 1, 4, ("u32",))
    return wrong


def _pins(op: Op) -> str | None:
    return None if isinstance(op.operands[0].type, RegisterArray) else "pins what is not a register array"


def _mma(op: Op) -> str | None:
    match = MMA_NAME.match(str(op.attrs["instruction"]))
    if match is None:
        return f"no instruction `{op.attrs['instruction']}`"
    return _registers(op, 0, 4, ("f32",) if match[2] == "f32" else ("i32",))


def _matrix(op: Op) -> str | None:
    """Operands: shared pointer, element offset, registers, first register."""
    array, count = op.operands[2].type, op.attrs["count"]
    if count not in (1, 2, 4) or not isinstance(array, RegisterArray) or array.dtype.name != "u32":
        return "moves 1, 2 or 4 matrices in u32 registers"
    return _shared_pointer(op, 0)


def _token(op: Op) -> str | None:
    return None if isinstance(op.result.type, Token) else "returns what is not a token"


def _waits(op: Op) -> str | None:
    pending = op.attrs["pending"]
    if not isinstance(pending, int) or not 0 <= pending <= 7:
        return f"waits until {pending} are pending; 0 to 7"
    return None


def _named(op: Op) -> str | None:
    """Barrier 0 is that of the block."""
    number, threads = op.attrs["id"], op.attrs["threads"]
    if not isinstance(number, int) or not 1 <= number <= 15:
        return f"there is no named barrier {number}; 1 to 15"
    if not isinstance(threads, int) or threads % 32 or not 32 <= threads <= 1024:
        return f"{threads} threads, not whole warps"
    return None


def _budget(op: Op) -> str | None:
    count, change = op.attrs["count"], str(op.attrs["change"])
    return None if count in REGISTER_COUNTS.get(change, ()) else f"`{change}` to {count} registers"


def _row(name: str, operands: int | None, results: int, rule: VerifyRule | None, doc: str, /, **attrs: bool) -> OpSpec:
    return OpSpec(name, GPU, operands, results, attrs, 0, frozenset({"asynchronous"}), rule, doc)


_ROWS = (
    _row("tensor_map", 1, 1, _tensor_map, "a tensor parameter's map, made by the host"),
    _row("prefetch_map", 1, 0, None, "bring a tensor map near"),
    _row("mbarriers", 0, 1, _declares_barriers, "barriers at an offset of shared memory", offset=True),
    _row("mbarrier_init", 1, 0, _barriers, "set every barrier of an array to its first phase"),
    _row("mbarrier_fence", 0, 0, None, "make initialised barriers visible to the copy engine and the cluster"),
    _row("mbarrier_expect", 2, 0, _expects, "arrive, and expect bytes from the copy engine", bytes=True),
    _row("mbarrier_arrive", 2, 0, _barriers, "arrive"),
    _row("mbarrier_wait", 3, 0, _barriers, "wait until the phase of a parity is complete"),
    _row("tma_load", None, 0, _tma_load, "copy a box to shared memory; its bytes complete on a barrier"),
    _row("tma_store", None, 0, _tma_store, "copy a box from shared memory"),
    _row("bulk_commit", 0, 1, _token, "commit this thread's stores as a group"),
    _row("bulk_wait", None, 0, _waits, "wait until few groups, or their reads, are pending", pending=True, read=True),
    _row("fence_async", 0, 0, None, "order this thread's shared accesses before the copy engine's and tensor cores'"),
    _row("descriptor", 2, 1, _descriptor, "a matrix in shared memory", leading=True, stride=True, swizzle=True),
    _row("wgmma_fence", 0, 0, None, "order register accesses before products"),
    _row("wgmma", 4, 0, _wgmma, "one product step of a warpgroup", instruction=True),
    _row("wgmma_pin", 1, 0, _pins, "keep the host compiler from moving accesses of products' registers across"),
    _row("wgmma_commit", 0, 1, _token, "commit products as a group"),
    _row("wgmma_wait", None, 0, _waits, "wait until few groups are pending", pending=True),
    _row("mma", 3, 0, _mma, "one product step of a warp: accumulator, A, B", instruction=True),
    _row("load_matrix", 4, 0, _matrix, "8x8 matrices from shared memory", count=True, transpose=True),
    _row("store_matrix", 4, 0, _matrix, "8x8 matrices to shared memory", count=True, transpose=True),
    _row("copy_async", 4, 0, None, "bytes from global to shared memory: pointer, offset, pointer, offset", bytes=True),
    _row("copy_commit", 0, 1, _token, "commit this thread's copies as a group"),
    _row("copy_wait", None, 0, _waits, "wait until few groups are pending", pending=True),
    _row("named_barrier", 0, 0, _named, "`threads` threads meet at barrier `id`", id=True, threads=True),
    _row("named_arrive", 0, 0, _named, "arrive at a named barrier without waiting", id=True, threads=True),
    _row("elect", 0, 1, None, "true in one thread of the warp"),
    _row("register_budget", 0, 0, _budget, "change this warpgroup's registers per thread", count=True, change=True),
    _row("pack_pair", 2, 1, None, "two f32 values as one register of two narrow ones, the first low", dtype=True),
)  # fmt: skip

GPU_ASYNC_OPS: dict[str, OpSpec] = {row.name: row for row in _ROWS}
