"""The operations of the GPU stage as table rows: what one thread does, in order.

Element operations on scalars are the rows of `tile_ops.py`. Memory operations move `count` neighbouring elements
between an address (pointer plus element offset) and a register array from index `at` on. Codegen prints each row and
takes no decision.
"""

from agentkern.compiler.ir.core import Op, OpSpec, Stage, VerifyRule
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray
from agentkern.compiler.ir.nondeterminism import has_atomics
from agentkern.compiler.ir.types import TensorType, TileType

GPU: frozenset[Stage] = frozenset({"gpu"})
ZERO_FILLS = ("0", "0.0", "False")
"""Fills that are words of no bits; -0.0 is not."""


def _scalar(op: Op, k: int, what: str) -> str | None:
    type_ = op.operands[k].type
    if isinstance(type_, TileType) and type_.rank == 0:
        return None
    return f"{what} is {type_}, not a scalar"


def _memory(op: Op) -> str | None:
    """Operands: pointer, element offset, register array, first register."""
    pointer, array = op.operands[0].type, op.operands[2].type
    if not isinstance(pointer, Pointer) or not isinstance(array, RegisterArray):
        return "moves between a pointer and a register array"
    if pointer.dtype is not array.dtype:
        return f"moves {pointer.dtype} to or from {array.dtype}"
    count = op.attrs["count"]
    assert isinstance(count, int)
    if count * array.dtype.nbytes > 16 or count & (count - 1) or count > array.count:
        return f"{count} elements of {array.dtype} are not one access"
    if op.name.startswith("store") and pointer.readonly:
        return "stores to read-only memory"
    return _scalar(op, 1, "the offset") or _scalar(op, 3, "the first register")


def _update(op: Op) -> str | None:
    pointer = op.operands[0].type
    if not isinstance(pointer, Pointer) or pointer.readonly:
        return "updates what is not memory that may be written"
    if pointer.space == "shared" and (op.attrs["kind"] != "add" or pointer.dtype.bits != 32 or pointer.dtype.is_float):
        return f"there is no atomic {op.attrs['kind']} of {pointer.dtype} in shared memory"
    if op.attrs["kind"] not in ("add", "max", "min") or not has_atomics(pointer.dtype):
        return f"there is no atomic {op.attrs['kind']} of {pointer.dtype}"
    return _memory(op) or (None if op.attrs["count"] == 1 else "one element at a time")


def _sort_slots(op: Op) -> str | None:
    pointers = [value.type for value in op.operands[:-1]]
    shared = all(isinstance(p, Pointer) and p.space == "shared" and p.dtype.name == "i64" for p in pointers)
    width, count = op.attrs["width"], op.attrs["count"]
    assert isinstance(width, int) and isinstance(count, int)
    if not shared or len(pointers) not in (1, 2) or width & (width - 1) or count % width:
        return f"sorts {count} slots in runs of {width} of {len(pointers)} arrays"
    return _scalar(op, len(pointers), "the thread's number")


def _sort_memory(op: Op) -> str | None:
    """Operands: pointers to memory, as many to shared memory, elements, their distance, the thread's number."""
    *pointers, _, _, _ = (value.type for value in op.operands)
    half = len(pointers) // 2
    spaces = [p.space if isinstance(p, Pointer) and p.dtype.name == "i64" else "none" for p in pointers]
    slots = op.attrs["slots"]
    assert isinstance(slots, int)
    if half not in (1, 2) or spaces != ["global"] * half + ["shared"] * half or slots < 2 or slots & (slots - 1):
        return f"sorts {spaces} through {slots} slots"
    numbers = ("the number of elements", "their distance", "the thread's number")
    found = (_scalar(op, len(pointers) + k, what) for k, what in enumerate(numbers))
    return next((wrong for wrong in found if wrong is not None), None)


def _get(op: Op) -> str | None:
    array = op.operands[0].type
    if not isinstance(array, RegisterArray):
        return "reads what is not a register array"
    if op.result.type != TileType(array.dtype):
        return f"the result is {op.result.type}"
    return _scalar(op, 1, "the index")


def _set(op: Op) -> str | None:
    array = op.operands[0].type
    if not isinstance(array, RegisterArray):
        return "writes what is not a register array"
    if op.operands[2].type != TileType(array.dtype):
        return f"writes {op.operands[2].type} to {array}"
    return _scalar(op, 1, "the index")


def _usual(op: Op) -> str | None:
    """Operands: result array and its first register, then for each operand the same, or a scalar for all.

    With `within`, the bounds of the first operand's magnitude, a flag comes last: they hold where it is set. `masked`:
    the wide form comes first.
    """
    count = op.attrs["count"]
    assert isinstance(count, int)
    if op.attrs["name"] not in USUAL:
        return f"`{op.attrs['name']}` has no usual form"
    if op.attrs.get("masked") and ("within" in op.attrs or USUAL[str(op.attrs["name"])].wide is None):
        return f"`{op.attrs['name']}` has no wide form that comes first"
    if len(op.operands) < 2 or not isinstance(op.operands[0].type, RegisterArray):
        return "the result is no register array"
    arrays = [v.type for v in op.operands if isinstance(v.type, RegisterArray)]
    if any(array.dtype.name != "f32" or array.count < count for array in arrays):
        return f"takes and gives register arrays of at least {count} f32"
    if "within" in op.attrs and (wrong := _condition_at(op, -1)) is not None:
        return wrong
    places = [k + 1 for k, v in enumerate(op.operands) if isinstance(v.type, RegisterArray)]
    return next((wrong for k in places if (wrong := _scalar(op, k, "a first register")) is not None), None)


def _declares_array(op: Op) -> str | None:
    array = op.result.type
    if not isinstance(array, RegisterArray):
        return "declares what is not a register array"
    is_whole = array.dtype.bits < 32 and array.count * array.dtype.bits % 32 == 0
    if op.attrs.get("packed") and (not is_whole or str(op.attrs.get("fill", 0)) not in ZERO_FILLS):
        return f"packs {array} into words"
    return None


def _pointer(op: Op) -> str | None:
    return None if isinstance(op.result.type, Pointer) else "makes what is not a pointer"


def _picks(op: Op) -> str | None:
    """Operands: the table, and the number of one of its tensors; `guarded` where that may lie outside."""
    table = op.operands[0].type
    if not isinstance(table, TensorType) or not table.table:
        return "picks from what is no table"
    axis = op.attrs.get("axis", 0)
    if not isinstance(axis, int) or not 0 <= axis < max(table.rank - 1, 1):
        return f"there is no stride {axis} of {table.entry}"
    return (_pointer(op) if op.name == "pick" else None) or _scalar(op, 1, "the number")


def _loop(op: Op) -> str | None:
    if len(op.regions[0].args) != 1:
        return "a loop has one counter"
    if len(op.operands) not in (2, 3) or (len(op.operands) == 3) == ("step" in op.attrs):
        return "takes a first count, an end, and a step: an operand or an attribute"
    found = (
        _scalar(op, k, what) for k, what in enumerate(("the first count", "the end", "the step")[: len(op.operands)])
    )
    return next((wrong for wrong in found if wrong is not None), None)


def _condition(op: Op) -> str | None:
    return _condition_at(op, 0)


def _condition_at(op: Op, k: int) -> str | None:
    type_ = op.operands[k].type
    return None if isinstance(type_, TileType) and type_.dtype.kind == "bool" else "the condition is not bool"


def _same_scalar(op: Op) -> str | None:
    return None if op.operands[0].type == op.result.type else "changes the type"


def _row(
    name: str, operands: int | None, results: int, rule: VerifyRule | None, doc: str, regions: int = 0, /, **attrs: bool
) -> OpSpec:
    return OpSpec(name, GPU, operands, results, attrs, regions, frozenset(), rule, doc)


_ROWS = (
    _row("thread", 0, 1, None, "the thread's number in its block"),
    _row("block", 0, 1, None, "the block's number"),
    _row("size_argument", 0, 1, None, "a run-time size or stride of the launch", argument=True),
    _row(
        "registers",
        0,
        1,
        _declares_array,
        "declare a register array; `fill` sets every element; a `packed` one, of words, is only loaded and read",
        fill=False,
        packed=False,
    ),
    _row("get", 2, 1, _get, "element of a register array"),
    _row("set", 3, 0, _set, "change an element of a register array"),
    _row("load_vector", 4, 0, _memory, "registers from global or shared memory", count=True),
    _row("store_vector", 4, 0, _memory, "registers to global or shared memory", count=True),
    _row("update", 4, 0, _update, "combine a register with memory in one step", count=True, kind=True),
    _row("shared", 0, 1, _pointer, "an array in shared memory, `offset` bytes from its start", offset=True, count=True),
    _row("advance", 2, 1, _pointer, "a pointer moved by a 64-bit number of elements"),
    _row("pick", 2, 1, _picks, "a pointer to the tensor of a table with a 64-bit number", guarded=False),
    _row("pick_stride", 2, 1, _picks, "a stride of that tensor", guarded=False, axis=True),
    _row(
        "for",
        None,
        0,
        _loop,
        "counted loop; `unroll` when every index must be known, `rolled` never",
        1,
        step=False,
        unroll=True,
        rolled=False,
    ),
    _row("if", 1, 0, _condition, "a region that runs where the condition holds", 1),
    _row("break_if", 1, 0, _condition, "leave the innermost loop where the condition holds"),
    _row("trap", 0, 0, None, "stop the launch with an error"),
    _row("if_else", 1, 0, _condition, "one of two regions", 2),
    _row("shuffle_xor", 1, 1, _same_scalar, "the value of the lane whose number differs in `mask`", mask=True),
    _row(
        "fill_slots",
        None,
        0,
        _sort_slots,
        "the largest integer in every slot of shared arrays, all threads at once; ends with all of them ready",
        0,
        width=True,
        count=True,
        threads=True,
    ),
    _row(
        "sort_slots",
        None,
        0,
        _sort_slots,
        "sort each run of `width` slots of shared arrays, all threads at once; begins and ends with all of them ready",
        0,
        width=True,
        count=True,
        threads=True,
    ),
    _row(
        "sort_memory",
        None,
        0,
        _sort_memory,
        "as `sort_slots` a row of each array in global memory, `slots` elements at a time in shared arrays",
        0,
        slots=True,
        threads=True,
    ),
    _row("barrier", 0, 0, None, "all threads of the block arrive before any goes on; orders shared memory"),
    _row("narrow_pair", 2, 2, None, "two f32 values cast to one narrower type at once"),
    _row(
        "usual",
        None,
        1,
        _usual,
        "an element operation on several registers, in short where all are usual; whether they are",
        0,
        name=True,
        count=True,
        within=False,
        masked=False,
    ),
    _row("index_add", 2, 1, _same_scalar, "a + b of indices, which never overflow"),
    _row("index_sub", 2, 1, _same_scalar, "a - b of indices"),
    _row("index_mul", 2, 1, _same_scalar, "a * b of indices"),
    _row("index_shr", 2, 1, _same_scalar, "a >> b of indices that are not negative"),
    _row("index_and", 2, 1, _same_scalar, "a & b of indices"),
    _row("quotient", 2, 1, _same_scalar, "a / b of integers that are not negative"),
    _row("remainder", 2, 1, _same_scalar, "a % b of integers that are not negative"),
    _row("note", 0, 0, None, "a comment", text=True),
    _row(
        "function",
        0,
        0,
        None,
        "one launch's code; `blocks` is an extent over the kernel's sizes",
        1,
        name=True,
        blocks=True,
        threads=True,
        shared_bytes=True,
        min_blocks=False,
        cluster=False,
    ),
)

GPU_OPS: dict[str, OpSpec] = {row.name: row for row in _ROWS}
