"""Forms of index scalars, accesses, reloading, liveness, alignment."""

import pytest

from agentkern.compiler.analysis import kernel_facts, last_uses, live_after, may_reload, users
from agentkern.compiler.ir.core import Kernel, Op, SizeInfo, walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.proofs import alignment_elems, block_span
from agentkern.dsl.dtypes import DTYPES
from tests.compiler.tile_sketch import Sketch


def _form(kernel: Kernel) -> str:
    """The index form of the kernel's last store."""
    store = kernel_facts(kernel).scopes[-1].accesses[-1]
    return str(store.axes[0].low)


def stored_at(build, *sizes: str | SizeInfo, block: int = 4) -> Kernel:
    k = Sketch("T", *sizes)
    i, y = k.scalar("i"), k.tensor("y", "out", "T")
    with k.grid(("T", block)) as (t,):
        k.store(y, build(k, t, i))
    return k.done()


def test_block_numbers_are_affine_in_the_ordinal() -> None:
    assert _form(stored_at(lambda k, t, i: k.op("start", t))) == "4 * %t.ordinal"
    assert _form(stored_at(lambda k, t, i: k.op("end", t))) == "%t + 4 * %t.ordinal"


def test_index_arithmetic_has_an_exact_form() -> None:
    def build(k, t, i):
        o = k.op("ordinal", t)
        return k.op("mod", k.op("add", k.op("mul", o, k.number(3)), k.size("T // 2")), k.number(4))

    whole = "3 * %t.ordinal + ((T) // (2))"
    assert _form(stored_at(build)) == f"3 * %t.ordinal - 4 * (({whole}) // (4)) + ((T) // (2))"


def test_product_that_may_wrap_is_opaque() -> None:
    assert _form(stored_at(lambda k, t, i: k.op("mul", i, i))) == "#0"


def test_product_that_cannot_wrap_is_a_form() -> None:
    assert _form(stored_at(lambda k, t, i: k.op("mul", k.size("T"), k.number(5)))) == "5 * T"


def test_narrow_type_that_may_wrap_is_opaque() -> None:
    narrow = TileType(DTYPES["i8"])
    assert _form(stored_at(lambda k, t, i: k.op("cast", k.size("T"), type_=narrow))) == "#0"


def test_smaller_of_ordered_forms_is_the_form_itself() -> None:
    assert _form(stored_at(lambda k, t, i: k.op("minimum", k.size("T"), k.size("T + 3")))) == "T"


def _accesses(kernel: Kernel) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name in ("load", "store")]


def reloading(access: str, *, same: bool) -> tuple[Kernel, list[Op]]:
    k = Sketch("T")
    x, y = k.tensor("x", access, "T"), k.tensor("y", "out", "T")
    with k.grid("T") as (t,):
        k.load(x, t)
        k.store(x if same else y, t)
        k.store(y, t)
    kernel = k.done()
    return kernel, list(kernel.body[0].regions[0].ops)


def test_load_may_be_repeated_past_a_store_to_another_tensor() -> None:
    _, ops = reloading("in", same=False)
    assert may_reload(ops, ops[0], ops[-1])


def test_load_may_not_be_repeated_past_a_store_to_its_own_tensor() -> None:
    _, ops = reloading("inout", same=True)
    assert not may_reload(ops, ops[0], ops[-1])


def test_load_may_be_repeated_before_the_store_to_its_own_tensor() -> None:
    _, ops = reloading("inout", same=True)
    store = next(op for op in ops if op.name == "store")
    assert may_reload(ops, ops[0], store)


def test_reloading_backwards_is_refused() -> None:
    _, ops = reloading("in", same=False)
    with pytest.raises(ValueError, match="after"):
        may_reload(ops, ops[-1], ops[0])


def test_last_use_counts_uses_in_nested_regions() -> None:
    k = Sketch("T")
    y = k.tensor("y", "out", "T")
    n = k.number(0)
    unused = k.number(7)
    with k.grid(("T", 1)):
        k.store(y, n)
    kernel = k.done()
    last = last_uses(kernel.body)
    assert (last[n], last[unused], last[y]) == (2, 1, 2)
    assert live_after(kernel.body, 0) == {n}
    assert [op.name for op in users(kernel.body)[n]] == ["store"]


def aligned(h: str | int, dtype: str, entry, *sizes: SizeInfo) -> int:
    k = Sketch("T", *sizes)
    x, y = k.tensor("x", "in", "T", h, dtype=dtype), k.tensor("y", "out", "T")
    with k.grid("T", (h, 24)) as (t, b):
        k.load(x, t, b if entry == "block" else entry)
        k.store(y, t)
    kernel = k.done()
    return alignment_elems(kernel, _accesses(kernel)[0])


@pytest.mark.parametrize(
    ("h", "dtype", "entry", "elems"),
    [
        (7168, "bf16", ":", 8),
        (7168, "e4m3", ":", 16),
        (7168, "f32", ":", 4),
        (576, "bf16", ":", 8),
        (7, "bf16", ":", 1),
        (12, "bf16", ":", 4),
        (7168, "bf16", "4:68", 4),
        (7168, "bf16", "block", 8),
        (7168, "e4m3", "block", 8),
        ("H", "bf16", ":", 1),
    ],
)
def test_alignment_of_rows_is_the_largest_shown(h: str | int, dtype: str, entry: str, elems: int) -> None:
    assert aligned(h, dtype, entry, SizeInfo("H")) == elems


def test_promised_multiple_aligns_rows() -> None:
    assert aligned("H", "bf16", ":", SizeInfo("H", multiple_of=8)) == 8
    assert aligned("2 * H", "bf16", ":", SizeInfo("H", multiple_of=2)) == 4


def test_free_blocks_of_the_last_axis_start_where_the_compiler_likes() -> None:
    k = Sketch("N")
    x, y = k.tensor("x", "in", "N", dtype="bf16"), k.tensor("y", "out", "N")
    with k.grid("N") as (t,):
        k.load(x, t)
        k.store(y, t)
    kernel = k.done()
    assert alignment_elems(kernel, _accesses(kernel)[0]) == 8


def test_span_counts_from_the_first_to_the_last_element_of_a_block() -> None:
    k = Sketch("T", "H")
    x, y = k.tensor("x", "in", "T", "H"), k.tensor("y", "out", "T")
    with k.grid(("T", 4)) as (t,):
        k.load(x, t, ":")
        k.store(y, t)
    kernel = k.done()
    assert str(block_span(kernel, _accesses(kernel)[0])) == "4 * H"
