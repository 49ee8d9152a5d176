"""Seeded faults: edits of the two kernels' text, each a mistake that a pass or a person could make.

An edit takes the nth line that matches a pattern (from 0; -1 the last) and replaces a part of it, drops it or
moves it to another. `shift` counts lines from the match: the numbers that operations take stand before them as constants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
PRODUCT, ATTENTION = "product_bf16", "attention_tile"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one line: `new` None drops it; `before` and `after` move it to the nearest line that matches."""

    line: str
    nth: int = 0
    shift: int = 0
    old: str = ""
    new: str | None = None
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A named fault of one kernel."""

    name: str
    kernel: str
    edits: tuple[Edit, ...]


def kernel_text(kernel: str) -> str:
    """The text without faults."""
    return (FOLDER / f"{kernel}.ir").read_text(encoding="utf-8")


def _find(lines: list[str], pattern: str, nth: int) -> int:
    found = [k for k, line in enumerate(lines) if re.search(pattern, line)]
    assert found, f"no line matches `{pattern}`"
    return found[nth]


def _apply(lines: list[str], edit: Edit) -> list[str]:
    at = _find(lines, edit.line, edit.nth) + edit.shift
    line, rest = lines[at], [*lines[:at], *lines[at + 1 :]]
    if edit.before is not None:
        to = max(k for k, other in enumerate(rest[:at]) if re.search(edit.before, other))
        return [*rest[:to], line, *rest[to:]]
    if edit.after is not None:
        to = min(k for k, other in enumerate(rest) if k >= at and re.search(edit.after, other))
        return [*rest[: to + 1], line, *rest[to + 1 :]]
    if edit.new is None:
        return rest
    changed = re.sub(edit.old, edit.new, line, count=1)
    assert changed != line, f"`{edit.old}` is not in `{line}`"
    return [*lines[:at], changed, *lines[at + 1 :]]


def faulty_text(fault: Fault) -> str:
    """The kernel's text with the fault."""
    lines = kernel_text(fault.kernel).split("\n")
    for edit in fault.edits:
        lines = _apply(lines, edit)
    return "\n".join(lines)


def _drop(line: str, nth: int = 0) -> Edit:
    return Edit(line, nth)


def _change(line: str, old: str, new: str, nth: int = 0) -> Edit:
    return Edit(line, nth, 0, old, new)


def _number(line: str, shift: int, new: int, nth: int = 0) -> Edit:
    """Another number in the constant `shift` lines from the match."""
    return Edit(line, nth, shift, r"value = -?\d+", f"value = {new}")


def _earlier(line: str, before: str, nth: int = 0) -> Edit:
    return Edit(line, nth, before=before)


def _later(line: str, after: str, nth: int = 0) -> Edit:
    return Edit(line, nth, after=after)


# (name, edit) of faults that one edit makes.
_OF_PRODUCT: tuple[tuple[str, Edit], ...] = (
    # initialisation
    ("init fence dropped", _drop("mbarrier_fence")),
    ("full barriers not initialised", _drop(r"mbarrier_init\(%full")),
    ("empty barriers not initialised", _drop(r"mbarrier_init\(%empty")),
    ("barrier of the block after initialisation dropped", _drop(r"^ +barrier\(\)")),
    ("every thread initialises", _change(r"eq\(%thread", "eq", "ge")),
    ("full barriers count 2 arrivals", _change("%full = ", "<4, 1>", "<4, 2>")),
    ("empty barriers count 1 arrival", _change("%empty = ", "<4, 2>", "<4, 1>")),
    ("empty barriers count 3 arrivals", _change("%empty = ", "<4, 2>", "<4, 3>")),
    ("barrier arrays overlap", _change("%empty = ", "229408", "229400")),
    ("barriers lie in the output buffer", _change("%full = ", "229376", "229368")),
    ("barriers are misaligned", _change("%empty = ", "229408", "229412")),
    ("shared memory too small", _change("function", "229440", "229400")),
    ("ring of three full barriers for four stages", _change("%full = ", "<4, 1>", "<3, 1>")),
    # bytes and boxes
    ("expects the bytes of B only", _change("mbarrier_expect", "49152", "32768")),
    ("expects the bytes of A only", _change("mbarrier_expect", "49152", "16384")),
    ("expects 8192 bytes too few", _change("mbarrier_expect", "49152", "40960")),
    ("expects 8192 bytes too many", _change("mbarrier_expect", "49152", "57344")),
    ("expect dropped", _drop("mbarrier_expect")),
    ("expects without any bytes", _change("mbarrier_expect", "49152", "0")),
    ("first load of A dropped", _drop(r"tma_load\(%a_stages")),
    ("second load of A dropped", _drop(r"tma_load\(%a_stages", 1)),
    ("load of B dropped", _drop(r"tma_load\(%b_stages")),
    ("box of A half as high", _change("%a_map = ", r"\[64, 64\]", "[32, 64]")),
    ("box of B half as high", _change("%b_map = ", "256", "128")),
    ("box of A half as wide", _change("%a_map = ", r"\[64, 64\]", "[64, 32]")),
    ("swizzle of A's map 64", _change("%a_map = ", "128>", "64>")),
    ("swizzle of B's map 0", _change("%b_map = ", "128>", "0>")),
    ("swizzle of C's map 0", _change("%c_map = ", "128>", "0>")),
    ("swizzle of B's map 48", _change("%b_map = ", "128>", "48>")),
    ("second box of A over the first", _number(r"tma_load\(%a_stages", -4, 0, 1)),
    ("second box of A misaligned", _number(r"tma_load\(%a_stages", -4, 4160, 1)),
    ("second box of A from the first's rows", _number(r"tma_load\(%a_stages", -2, 0, 1)),
    ("columns of A 63 apart", _number("%k0 = ", -1, 63)),
    ("coordinates of B swapped", _change(r"tma_load\(%b_stages", "%n0, %k0", "%k0, %n0")),
    ("load of B completes on the empty barrier", _change(r"tma_load\(%b_stages", "%full", "%empty")),
    ("load of B completes on a barrier past the ring", _change(r"tma_load\(%b_stages", "%stage", "%turn")),
    ("stages of B overlap", _number(r"tma_load\(%b_stages", -2, 8192)),
    ("stages of A past their array", _number(r"tma_load\(%a_stages", -2, 16384)),
    # the producer's ring
    ("producer does not wait for an empty stage", _drop(r"mbarrier_wait\(%empty")),
    ("load before the wait for an empty stage", _later(r"mbarrier_wait\(%empty", r"tma_load\(%a_stages")),
    ("expect before the wait for an empty stage", _earlier("mbarrier_expect", "mbarrier_wait")),
    ("producer waits for the opposite phase", _number("%parity = ", -3, 0)),
    ("producer's phase turns twice as fast", _number("%parity = ", -5, 1)),
    ("producer's phase never turns", _number("%parity = ", -1, 0)),
    ("producer uses two of four stages", _number("%stage = ", -1, 1)),
    ("producer uses eight of four stages", _number("%stage = ", -1, 7)),
    ("producer does not count", _drop(r"set\(%filled")),
    ("producer counts by two", _number(r"set\(%filled", -3, 2)),
    ("producer waits for the full barrier", _change("mbarrier_wait", "%empty", "%full")),
    ("producer begins at step 1", _number(r"for\(%\d+, %steps", -1, 1)),
    ("producer's whole warpgroup loads", _change(r"eq\(%thread", "eq", "ge", 1)),
    # consumers: waits and operands
    ("consumers do not wait for a full stage", _drop(r"mbarrier_wait\(%full")),
    ("consumers wait after their products", _later(r"mbarrier_wait\(%full", "wgmma_commit")),
    ("consumers' phase never turns", _number("%parity.1 = ", -1, 0)),
    ("consumers' phase turns twice as fast", _number("%parity.1 = ", -3, 1)),
    ("consumers use two of four stages", _number("%stage.1 = ", -1, 1)),
    ("consumers do not count", _drop(r"set\(%used")),
    ("consumers begin at step 1", _number(r"for\(%\d+, %steps", -1, 1, 1)),
    ("consumers' tiles are 131 apart", _number(r"for\(%block, %tiles", -1, 131, 1)),
    ("consumers read A half a stage on", _number("%a_at = ", -4, 4096)),
    ("both halves read rows 32 apart", _number("%a_at = ", -2, 2048)),
    ("consumers read B half a stage on", _number("%b_at = ", -1, 8192)),
    ("descriptor of A misaligned", _number(r"%a_matrix\.1 = ", -2, 4)),
    ("descriptor of A one step behind", _number(r"%a_matrix\.1 = ", -2, 0)),
    ("descriptor of B past its stages", _number(r"%b_matrix\.3 = ", -2, 65536)),
    ("descriptor of A with stride 512", _change("%a_matrix = ", "1024", "512")),
    ("descriptor of B with stride 2048", _change("%b_matrix = ", "1024", "2048")),
    ("descriptor of A with swizzle 64", _change(r"%a_matrix\.2 = ", "swizzle = 128", "swizzle = 64")),
    ("descriptor of B without swizzle", _change("%b_matrix = ", "swizzle = 128", "swizzle = 0")),
    ("descriptor of A in the stages of B", _change("%a_matrix = ", "%a_stages", "%b_stages")),
    ("descriptor with stride 1000", _change("%a_matrix = ", "1024", "1000")),
    ("product narrower than its accumulator", _change(r" wgmma\(", "n256", "n128")),
    ("product drops the accumulator", _number(r" wgmma\(", -1, 0, 1)),
    ("operand B taken for MN-major", _change(r" wgmma\(", "_ss", "_ss_bt")),
    # consumers: products in flight
    ("fence before products dropped", _drop("wgmma_fence")),
    ("commit dropped", _drop("wgmma_commit")),
    ("commit before the last product", _earlier("wgmma_commit", r" wgmma\(")),
    ("wait in the loop leaves two groups", _change("wgmma_wait", "pending = 1", "pending = 2")),
    ("wait in the loop dropped", _drop("wgmma_wait")),
    ("last wait leaves one group", _change("wgmma_wait", "pending = 0", "pending = 1", 1)),
    ("last wait dropped", _drop("wgmma_wait", 1)),
    ("last wait after the accumulators are read", _later("wgmma_wait", r"set\(%out", 1)),
    ("accumulators not pinned before the products", _drop("wgmma_pin")),
    ("accumulators not pinned after the wait", _drop("wgmma_pin", 1)),
    ("accumulator not set to zero", _change("%acc = ", r" \{fill = 0.0\}", "")),
    ("accumulator cleared after the fence", _later("wgmma_fence", r" wgmma\(")),
    ("stage freed with its product in flight", _number("%before = ", -3, 4)),
    ("stage freed before the wait", _later("wgmma_wait", r"set\(%used")),
    ("stages not freed in the loop", _drop("mbarrier_arrive")),
    ("last stage of a tile not freed", _drop("mbarrier_arrive", 1)),
    ("stage freed by every thread", _change(r"eq\(%lane", "eq", "ge")),
    ("stage freed at the first step too", _change(r"gt\(%step", "gt", "ge")),
    ("full barrier arrived at instead of the empty one", _change("mbarrier_arrive", "%empty", "%full")),
    ("last stage freed is the next one", _number(r"%before\.1 = ", -3, 4)),
    # the epilogue
    ("first output piece not waited for", _drop("bulk_wait")),
    ("second output piece not waited for", _drop("bulk_wait", 1)),
    ("output piece waited for with two pending", _change("bulk_wait", "pending = 1", "pending = 2")),
    ("stores not waited for at the end", _drop("bulk_wait", -1)),
    ("one store pending at the end", _change("bulk_wait", "pending = 0", "pending = 1", -1)),
    ("barrier before an output piece dropped", _drop("named_barrier")),
    ("barrier after an output piece dropped", _drop("named_barrier", 2)),
    ("one warp meets at the barrier of a warpgroup", _change("named_barrier", "128", "32")),
    ("half a warpgroup meets", _change("named_barrier", "128", "64")),
    ("barrier counts both warpgroups", _change("named_barrier", "128", "256")),
    ("both warpgroups use one barrier", _change("named_barrier", "id = 2", "id = 1", 1)),
    ("barriers of the warpgroups swapped once", _change("named_barrier", "id = 1", "id = 2", 2)),
    ("barrier 0 for a warpgroup", _change("named_barrier", "id = 1", "id = 0")),
    ("barrier 16", _change("named_barrier", "id = 1", "id = 16")),
    ("barrier of 100 threads", _change("named_barrier", "128", "100")),
    ("proxy fence dropped", _drop("fence_async")),
    ("proxy fence of the last piece dropped", _drop("fence_async", -1)),
    ("proxy fence after the barrier", _later("fence_async", "tma_store")),
    ("proxy fence before the writes", _earlier("fence_async", r"store_matrix\(%c_pieces, %at,")),
    ("store never committed", _drop("bulk_commit", -1)),
    ("commit before the store", _earlier("bulk_commit", "tma_store")),
    ("output pieces do not take turns", _number(r"%piece_at\.1 = ", -1, 0)),
    ("output pieces of the second half past the array", _number("%piece_at = ", -3, 16384)),
    ("output pieces of the halves overlap", _number("%piece_at = ", -3, 4096)),
    ("two matrices in the same columns", _number(r"%column_block\.1 = ", -1, 0)),
    ("matrix in columns past the row", _number(r"%column_block\.3 = ", -1, 8)),
    ("swizzle of one matrix wrong", _number("%swizzled = ", -2, 3)),
    ("rows of one matrix 32 elements apart", _number("%at = ", -5, 32)),
    ("fewer rows written", _number("%row = ", -4, 8)),
    ("store to the columns before", _number(r"tma_store", -2, 0, 1)),
    ("store 4 columns off", _number(r"tma_store", -2, 4)),
    ("store to negative columns", _number(r"tma_store", -2, -64)),
    ("store to negative rows", _number(r"tma_store", -7, -128)),
    ("matrices stored from the wrong registers", _number("store_matrix", -1, 0, 1)),
    # budgets and roles
    ("consumers ask for 240 registers", _change("register_budget", "232", "240", 1)),
    ("producer keeps 56 registers", _change("register_budget", "40", "56")),
    ("producer gives no registers up", _drop("register_budget")),
    ("budget of 236 registers", _change("register_budget", "232", "236", 1)),
    ("consumers give registers up to 232", _change("register_budget", "inc", "dec", 1)),
    ("two warps take the producer's role", _number("%warpgroup = ", -1, 6)),
)
_OF_ATTENTION: tuple[tuple[str, Edit], ...] = (
    ("q not waited for", _drop(r"mbarrier_wait\(%q_full")),
    ("q waited for with the opposite phase", _number(r"mbarrier_wait\(%q_full", -1, 1)),
    ("q expects half its bytes", _change("mbarrier_expect", "32768", "16384")),
    ("one box of q not loaded", _drop(r"tma_load\(%q_rows", 3)),
    ("box of q over another", _number(r"tma_load\(%q_rows", -5, 0, 2)),
    ("box of q from other columns", _number(r"tma_load\(%q_rows", -1, 0, 1)),
    ("box of q one column on", _number(r"tma_load\(%q_rows", -1, 65, 1)),
    ("q barrier counts two", _change("%q_full = ", "<1, 1>", "<1, 2>")),
    ("q not initialised", _drop(r"mbarrier_init\(%q_full")),
    ("init fence dropped", _drop("mbarrier_fence")),
    ("keys not waited for", _drop(r"mbarrier_wait\(%k_full")),
    ("values not waited for", _drop(r"mbarrier_wait\(%v_full")),
    ("values waited for on the keys' barrier", _change(r"mbarrier_wait\(%v_full", "%v_full", "%k_full")),
    ("keys and values wait for each other's barrier", _change(r"mbarrier_wait\(%k_empty", "%k_empty", "%v_empty")),
    ("producer does not wait for empty keys", _drop(r"mbarrier_wait\(%k_empty")),
    ("producer does not wait for empty values", _drop(r"mbarrier_wait\(%v_empty")),
    ("values loaded before their wait", _later(r"mbarrier_wait\(%v_empty", r"tma_load\(%v_stages")),
    ("values complete on the keys' barrier", _change(r"tma_load\(%v_stages", "%v_full", "%k_full")),
    ("keys expect 48 KiB", _change("mbarrier_expect", "32768", "49152", 1)),
    ("second box of keys over the first", _number(r"tma_load\(%k_stages", -3, 0, 1)),
    ("second box of keys has the first's columns", _number(r"tma_load\(%k_stages", -1, 0, 1)),
    ("box of keys half as high", _change("%k_map = ", "128, 64", "64, 64")),
    ("swizzle of the values' map 64", _change("%v_map = ", "128>", "64>")),
    ("stages of values overlap", _number(r"tma_load\(%v_stages", -5, 8192)),
    ("producer's phase never turns", _number("%parity = ", -1, 0)),
    ("producer waits for the opposite phase", _number("%parity = ", -3, 0)),
    ("producer uses one stage", _number("%stage = ", -1, 0)),
    ("consumers' phase never turns", _number(r"%parity\.1 = ", -1, 0)),
    ("consumers use one stage", _number(r"%stage\.1 = ", -1, 0)),
    ("producer begins at block 1", _number(r"for\(%\d+, %blocks", -1, 1)),
    ("consumers begin at block 1", _number(r"for\(%\d+, %blocks", -1, 1, 1)),
    ("keys not freed", _drop("mbarrier_arrive")),
    ("values not freed", _drop("mbarrier_arrive", 1)),
    ("values freed instead of keys", _change("mbarrier_arrive", "%k_empty", "%v_empty")),
    ("values freed with their product in flight", _later("wgmma_wait", r"mbarrier_arrive", 1)),
    ("keys freed with their product in flight", _later("wgmma_wait", r"mbarrier_arrive")),
    ("fence before scores dropped", _drop("wgmma_fence")),
    ("fence before the weights' product dropped", _drop("wgmma_fence", 1)),
    ("scores not committed", _drop("wgmma_commit")),
    ("weights' product not committed", _drop("wgmma_commit", 1)),
    ("scores read in flight", _change("wgmma_wait", "pending = 0", "pending = 1")),
    ("weights changed in flight", _change("wgmma_wait", "pending = 0", "pending = 1", 1)),
    ("scores' wait dropped", _drop("wgmma_wait")),
    ("weights' wait dropped", _drop("wgmma_wait", 1)),
    ("scores not pinned before their product", _drop(r"wgmma_pin\(%score")),
    ("scores not pinned after the wait", _drop(r"wgmma_pin\(%score", 1)),
    ("weights not pinned before their product", _drop(r"wgmma_pin\(%weights\.2")),
    ("scores not set to zero", _change("%score = ", r" \{fill = 0.0\}", "")),
    ("one product of the wrong weights", _change(r"wgmma\(%acc, %weights\.1,", r"weights\.1", "weights")),
    ("accumulator of scores in both products", _change(r"wgmma\(%acc", "%acc", "%score")),
    ("descriptor of q in the stages of keys", _change("%q_matrix = ", "%q_rows", "%k_stages")),
    ("leading bytes of values 8192", _change("%v_matrix = ", "leading = 16384", "leading = 8192")),
    ("leading bytes of values 16", _change(r"%v_matrix\.3 = ", "leading = 16384", "leading = 16")),
    ("stride of values 2048", _change("%v_matrix = ", "stride = 1024", "stride = 2048")),
    ("leading and stride of values swapped", _change(
        "%v_matrix = ", "leading = 16384, stride = 1024", "leading = 1024, stride = 16384")),
    ("values taken for K-major", _change(r"wgmma\(%acc", "_rs_bt", "_rs")),
    ("values half a row of keys on", _number(r"%v_matrix\.1 = ", -2, 512)),
    ("values of the wrong keys", _number(r"%v_matrix\.7 = ", -2, 6144)),
    ("swizzle of keys' descriptor 32", _change(r"%k_matrix\.5 = ", "swizzle = 128", "swizzle = 32")),
    ("halves share rows of q", _number("%q_at = ", -1, 4096)),
    ("output written before the last product is done", _later("wgmma_wait", r"store_matrix\(%q_rows, %at,", 1)),
    ("proxy fence dropped", _drop("fence_async")),
    ("barrier before the store dropped", _drop("named_barrier")),
    ("barrier of the second half counts 256", _change("named_barrier", "128", "256", 1)),
    ("both halves use one barrier", _change("named_barrier", "id = 2", "id = 1", 1)),
    ("store not committed", _drop("bulk_commit")),
    ("store not waited for", _drop("bulk_wait")),
    ("store 60 columns on", _number("tma_store", -1, 60)),
    ("store to negative columns", _number("tma_store", -1, -64)),
    ("store of the first columns only", _drop("tma_store", 1)),
    ("output matrix left out", _drop("store_matrix", 5)),
    ("output stored with swizzle 0", _change("%o_map = ", "128>", "0>")),
    ("consumers ask for 248 registers", _change("register_budget", "240", "248", 1)),
    ("producer keeps 32 registers", _change("register_budget", "24", "32")),
    ("last key block not masked", _change(r"lt\(%column", "lt", "ge")),
)  # fmt: skip


FAULTS: tuple[Fault, ...] = (
    *(Fault(name, PRODUCT, (edit,)) for name, edit in _OF_PRODUCT),
    *(Fault(name, ATTENTION, (edit,)) for name, edit in _OF_ATTENTION),
)
