"""Spelling of asynchronous operations and sorts: one prelude call each. Tables and templates, no decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentkern.compiler.codegen.expressions import narrow_pair
from agentkern.compiler.codegen.printing import Printer
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Mbarriers, Pointer, RegisterArray, TensorMap
from agentkern.dsl.dtypes import DTYPES

_PENDING = "pending"
SWIZZLE_CODES: Mapping[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}


def _at(f: Printer, pointer: Value, offset: Value) -> str:
    base, where = f.bare(pointer), f.summand(offset)
    return base if where == "0" else f"{base} + {where}"


def _barrier(f: Printer, op: Op, k: int = 0) -> str:
    return _at(f, op.operands[k], op.operands[k + 1])


def map_name(op: Op) -> str:
    """The parameter that carries a tensor map: tensor, box and swizzle."""
    map_ = op.result.type
    assert isinstance(map_, TensorMap)
    return f"{op.operands[0].name}_map_{'x'.join(map(str, map_.box))}"


def _tensor_map(f: Printer, op: Op) -> None:
    f.inlined[op.result] = f"&{map_name(op)}"


def _mbarriers(f: Printer, op: Op) -> None:
    name = f.names[op.result] = f.fresh(op.result.name or "barriers")
    f.line(f"unsigned long long* {name} = (unsigned long long*)(ak_smem + {op.attrs['offset']});", op)


def _mbarrier_init(f: Printer, op: Op) -> None:
    barriers = op.operands[0].type
    assert isinstance(barriers, Mbarriers)
    first = f.bare(op.operands[0])
    i = "i" if first != "i" else "n"
    call = f"{f.use('ak_mbarrier_init')}({first} + {i}, {barriers.arrivals});"
    f.line(f"for (int {i} = 0; {i} < {barriers.count}; ++{i}) {call}", op)


def _call(function: str) -> Callable[[Printer, Op], None]:
    """A call of the operands as they are."""
    return lambda f, op: f.line(f"{f.use(function)}({', '.join(map(f.bare, op.operands))});", op)


def _mbarrier_expect(f: Printer, op: Op) -> None:
    f.line(f"{f.use('ak_mbarrier_arrive_expect_tx')}({_barrier(f, op)}, {op.attrs['bytes']});", op)


def _mbarrier_arrive(f: Printer, op: Op) -> None:
    f.line(f"{f.use('ak_mbarrier_arrive')}({_barrier(f, op)});", op)


def _mbarrier_wait(f: Printer, op: Op) -> None:
    f.line(f"{f.use('ak_mbarrier_wait')}({_barrier(f, op)}, {f.bare(op.operands[2])});", op)


def _coordinates(f: Printer, values: tuple[Value, ...]) -> str:
    return ", ".join(f.bare(v) for v in reversed(values))


def _tma_load(f: Printer, op: Op) -> None:
    pointer, offset, map_, barriers, which, *coordinates = op.operands
    function = f.use(f"ak_tma_load_{len(coordinates)}d")
    where = _coordinates(f, tuple(coordinates))
    f.line(f"{function}({_at(f, pointer, offset)}, {f.bare(map_)}, {_at(f, barriers, which)}, {where});", op)


def _tma_store(f: Printer, op: Op) -> None:
    map_, pointer, offset, *coordinates = op.operands
    function = f.use(f"ak_tma_store_{len(coordinates)}d")
    where = _coordinates(f, tuple(coordinates))
    f.line(f"{function}({f.bare(map_)}, {_at(f, pointer, offset)}, {where});", op)


def _plain(function: str) -> Callable[[Printer, Op], None]:
    """A call without arguments."""
    return lambda f, op: f.line(f"{f.use(function)}();", op)


def _pending(prefix: str) -> Callable[[Printer, Op], None]:
    return lambda f, op: f.line(f"{f.use(f'{prefix}_{op.attrs[_PENDING]}')}();", op)


def _bulk_wait(f: Printer, op: Op) -> None:
    read = "_read" if op.attrs["read"] else ""
    f.line(f"{f.use(f'ak_bulk_wait{read}_{op.attrs[_PENDING]}')}();", op)


def _descriptor(f: Printer, op: Op) -> None:
    swizzle = op.attrs["swizzle"]
    assert isinstance(swizzle, int)
    arguments = f"{op.attrs['leading']}, {op.attrs['stride']}, {SWIZZLE_CODES[swizzle]}"
    name = f.names[op.result] = f.fresh(op.result.name or "descriptor")
    call = f"{f.use('ak_wgmma_desc')}({_at(f, op.operands[0], op.operands[1])}, {arguments})"
    f.line(f"const unsigned long long {name} = {call};", op)


def _wgmma(f: Printer, op: Op) -> None:
    function = f.use(f"ak_wgmma_{op.attrs['instruction']}")
    f.line(f"{function}({', '.join(map(f.bare, op.operands))});", op)


def _wgmma_pin(f: Printer, op: Op) -> None:
    array = op.operands[0].type
    assert isinstance(array, RegisterArray)
    kind = {"f32": "f32", "i32": "s32"}.get(array.dtype.name, "u32")
    f.line(f"{f.use(f'ak_wgmma_pin_{kind}_{array.count}')}({f.bare(op.operands[0])});", op)


def _mma(f: Printer, op: Op) -> None:
    function = f.use(f"ak_mma_{op.attrs['instruction']}")
    f.line(f"{function}({', '.join(map(f.bare, op.operands))});", op)


def _matrix(f: Printer, op: Op) -> None:
    pointer, offset, registers, first = op.operands
    count = op.attrs["count"]
    function = f.use(
        f"ak_{'ld' if op.name == 'load_matrix' else 'st'}matrix_x{count}{'_trans' if op.attrs['transpose'] else ''}"
    )
    piece = f"*(unsigned (*)[{count}])({_at(f, registers, first)})"
    address = _at(f, pointer, offset)
    f.line(f"{function}({f'{piece}, {address}' if op.name == 'load_matrix' else f'{address}, {piece}'});", op)


def _copy_async(f: Printer, op: Op) -> None:
    to, to_offset, source, source_offset = op.operands
    function = f.use(f"ak_cp_async_{op.attrs['bytes']}")
    f.line(f"{function}({_at(f, to, to_offset)}, {_at(f, source, source_offset)});", op)


def _named(function: str) -> Callable[[Printer, Op], None]:
    return lambda f, op: f.line(f"{f.use(function)}({op.attrs['id']}, {op.attrs['threads']});", op)


def _elect(f: Printer, op: Op) -> None:
    name = f.names[op.result] = f.fresh(op.result.name or "elected")
    f.line(f"const bool {name} = {f.use('ak_elect_one')}();", op)


def _register_budget(f: Printer, op: Op) -> None:
    function = f.use(f"ak_setmaxnreg_{op.attrs['change']}_{op.attrs['count']}")
    f.line(f"{function}();", op)


def _pack_pair(f: Printer, op: Op) -> None:
    _, function, _ = narrow_pair(DTYPES[str(op.attrs["dtype"])], f.arch)
    low, high = (f.bare(v) for v in op.operands)
    name = f.names[op.result] = f.fresh(op.result.name or "pair")
    f.line(f"const unsigned int {name} = {f.use(function)}({high}, {low});", op)


def _sort_slots(f: Printer, op: Op) -> None:
    *pointers, thread = map(f.bare, op.operands)
    numbers = f"{op.attrs['width']}, {op.attrs['count']}, {thread}, {op.attrs['threads']}"
    f.line(f"{f.use(f'ak_{op.name}_{len(pointers)}')}({', '.join(pointers)}, {numbers});", op)


def _sort_memory(f: Printer, op: Op) -> None:
    *pointers, count, step, thread = map(f.bare, op.operands)
    function = f.use(f"ak_sort_memory_{len(pointers) // 2}")
    numbers = f"{count}, {step}, {op.attrs['slots']}, {thread}, {op.attrs['threads']}"
    f.line(f"{function}({', '.join(pointers)}, {numbers});", op)


def is_shared(value: Value) -> bool:
    """Whether a value points to shared memory."""
    return isinstance(value.type, Pointer) and value.type.space == "shared"


ASYNC_PRINTERS: Mapping[str, Callable[[Printer, Op], None]] = {
    "tensor_map": _tensor_map, "prefetch_map": _call("ak_tma_prefetch"), "mbarriers": _mbarriers,
    "mbarrier_init": _mbarrier_init, "mbarrier_fence": _plain("ak_mbarrier_fence_init"),
    "mbarrier_expect": _mbarrier_expect, "mbarrier_arrive": _mbarrier_arrive, "mbarrier_wait": _mbarrier_wait,
    "tma_load": _tma_load, "tma_store": _tma_store, "bulk_commit": _plain("ak_bulk_commit"), "bulk_wait": _bulk_wait,
    "fence_async": _plain("ak_fence_proxy_async"), "descriptor": _descriptor, "wgmma_fence": _plain("ak_wgmma_fence"),
    "wgmma": _wgmma, "wgmma_pin": _wgmma_pin, "wgmma_commit": _plain("ak_wgmma_commit"),
    "wgmma_wait": _pending("ak_wgmma_wait"), "mma": _mma,
    "load_matrix": _matrix, "store_matrix": _matrix, "copy_async": _copy_async,
    "copy_commit": _plain("ak_cp_async_commit"), "copy_wait": _pending("ak_cp_async_wait"),
    "named_barrier": _named("ak_bar_sync"), "named_arrive": _named("ak_bar_arrive"), "elect": _elect,
    "register_budget": _register_budget, "pack_pair": _pack_pair, "sort_slots": _sort_slots, "fill_slots": _sort_slots,
    "sort_memory": _sort_memory,
}  # fmt: skip
