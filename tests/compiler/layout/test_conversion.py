"""Planned conversions: the kind that is chosen, and shared memory carried out element by element."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.layout.banks import access_cost
from agentkern.compiler.layout.conversion import Tile, merged_axes, plan_conversion
from agentkern.compiler.layout.layout import Layout, distribute, parse_layout
from agentkern.compiler.layout.shared_exchange import SharedExchange, Side, plan_shared

ROWS_OF_FOUR = parse_layout("(2 | 1:4:1 0:4:8 | 1:8:4 0:4:1 | 0:2:4)")
COLUMNS_OF_FOUR = parse_layout("(2 | 0:4:1 1:4:8 | 0:8:4 1:4:1 | 1:2:4)")


def unpadded_conflicts(before: Layout, after: Layout, extents: tuple[int, ...], nbytes: int) -> int:
    """Conflicts of element-by-element accesses to a row-major buffer, over all registers of warp 0."""
    strides = [1] * len(extents)
    for axis in reversed(range(len(extents) - 1)):
        strides[axis] = strides[axis + 1] * extents[axis + 1]
    total = 0
    for layout in (before, after):
        for register in range(layout.register_count):
            at = [layout.coordinates(register, lane, 0) for lane in range(32)]
            places = [nbytes * sum(c * s for c, s in zip(a, strides, strict=True)) for a in at]
            total += access_cost(places, nbytes).conflicts
    return total


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:2:1 0:2:2 | 0:8:4 0:4:32 | 0:2:128)", "nothing"),
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:2:2 0:2:1 | 0:32:4 | 0:2:128)", "registers"),
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:2:1 0:2:4 | 0:2:2 0:16:8 | 0:2:128)", "shuffles"),
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:4:1 | 0:32:8 | 0:2:4)", "shared"),
    ],
)
def test_kind_is_the_least_that_is_needed(before: str, after: str, kind: str) -> None:
    plan = plan_conversion(Side(parse_layout(before)), Side(parse_layout(after)), Tile((256,), 4, clipped=False))
    assert plan.kind == kind
    assert (plan.cost == 0) == (kind in ("nothing", "registers"))


def test_many_shuffles_lose_to_shared_memory() -> None:
    before = parse_layout("(1 | 0:64:1 | 0:32:64 | )")
    after = parse_layout("(1 | 0:64:32 | 0:32:1 | )")
    tile = Tile((2048,), 4, clipped=False)
    assert plan_conversion(Side(before), Side(after), tile).kind == "shared"
    small = parse_layout("(1 | 0:2:1 | 0:32:2 | )"), parse_layout("(1 | 0:2:32 | 0:32:1 | )")
    assert plan_conversion(Side(small[0]), Side(small[1]), Tile((64,), 4, clipped=False)).kind == "shuffles"


def test_coordinates_that_are_not_elements_go_through_shared_memory() -> None:
    layout = parse_layout("(1 | 0:4:1 | 0:32:4 | )")
    tile = Tile((128,), 4, clipped=False)
    assert plan_conversion(Side(layout), Side(layout), tile, whole_atoms=False).kind == "shared"


@pytest.mark.parametrize(("nbytes", "conflicts", "unpadded"), [(1, 4, 112), (2, 8, 128), (4, 0, 160), (8, 32, 320)])
def test_transpose_of_a_tile_has_few_conflicts(nbytes: int, conflicts: int, unpadded: int) -> None:
    plan = plan_shared(Side(ROWS_OF_FOUR), Side(COLUMNS_OF_FOUR), (32, 32), nbytes, clipped=False)
    assert plan.conflicts == conflicts
    assert unpadded_conflicts(ROWS_OF_FOUR, COLUMNS_OF_FOUR, (32, 32), nbytes) == unpadded


def test_flat_exchange_uses_a_swizzle_where_rows_cannot_be_lengthened() -> None:
    before, after = parse_layout("(1 | 0:32:1 | 0:32:32 | )"), parse_layout("(1 | 0:32:32 | 0:32:1 | )")
    plan = plan_shared(Side(before, 1), Side(after, 1), (1024,), 4, clipped=False)
    assert plan.swizzle.bits > 0
    assert plan.conflicts == 0


def carried_out(before: Layout, after: Layout, plan: SharedExchange, extents: tuple[int, ...], nbytes: int) -> None:
    """Write and read through a buffer as the plan says; every present element arrives, nothing unwritten is used."""
    memory: dict[int, tuple[int, ...]] = {}

    def place(at: tuple[int, ...]) -> int:
        byte = plan.swizzle(nbytes * sum(c * s for c, s in zip(at, plan.strides, strict=True)))
        assert byte % nbytes == 0 and byte // nbytes < plan.count
        return byte // nbytes

    def accesses(layout: Layout, width: int) -> list[tuple[int, int, int]]:
        numbers = range(0, layout.register_count, width)
        return [
            (register, lane, warp)
            for register, lane, warp in itertools.product(numbers, range(32), range(layout.warp_count))
            if all(c < e for c, e in zip(layout.coordinates(register, lane, warp), extents, strict=True))
        ]

    for register, lane, warp in accesses(before, plan.write_width):
        first = place(before.coordinates(register, lane, warp))
        assert first % plan.write_width == 0
        for k in range(plan.write_width):
            at = before.coordinates(register + k, lane, warp)
            assert memory.setdefault(first + k, at) == at
    for register, lane, warp in accesses(after, plan.read_width):
        first = place(after.coordinates(register, lane, warp))
        assert first % plan.read_width == 0
        for k in range(plan.read_width):
            assert memory[first + k] == after.coordinates(register + k, lane, warp)


LAYOUTS = st.sampled_from([1, 2, 4]).flatmap(
    lambda vector: st.tuples(st.just(vector), st.booleans(), st.sampled_from([1, 2, 4]))
)


def _layout(extents: tuple[int, int], vector: int, columns: bool, warps: int) -> Layout:
    """Any layout of a tile with vectors along its rows or columns."""
    first, second = (0, 1) if columns else (1, 0)
    lane_part = min(32, 1 << max((-(-extents[first] // vector)) - 1, 0).bit_length())
    rest = -(-extents[first] // (vector * lane_part))
    other = -(-extents[second] // (32 // lane_part * warps))
    text = (
        f"(2 | {first}:{vector}:1 {first}:{rest}:{vector * lane_part} {second}:{other}:{32 // lane_part * warps}"
        f" | {first}:{lane_part}:{vector} {second}:{32 // lane_part}:1 | {second}:{warps}:{32 // lane_part})"
    )
    return parse_layout(text)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 70), LAYOUTS, LAYOUTS, st.sampled_from([1, 2, 4, 8]), st.booleans())
def test_shared_exchange_brings_every_element(
    rows: int, columns: int, first: tuple[int, bool, int], second: tuple[int, bool, int], nbytes: int, clipped: bool
) -> None:
    before, after = _layout((rows, columns), *first), _layout((rows, columns), *second)
    plan = plan_shared(Side(before), Side(after), (rows, columns), nbytes, clipped=clipped)
    carried_out(before, after, plan, (rows, columns), nbytes)
    if clipped:
        carried_out(before, after, plan, ((rows + 1) // 2, max(columns - 3, 1)), nbytes)


def test_plan_is_the_same_every_time() -> None:
    sides = Side(distribute((33, 65), 4, {})), Side(_layout((33, 65), 4, True, 2))
    first, second = (plan_shared(*sides, (33, 65), 2, clipped=True) for _ in range(2))
    assert first == second


def test_merged_axes_number_row_major() -> None:
    layout = parse_layout("(3 | 2:4:1 0:4:16 1:3:1 | 2:8:4 0:4:1 | 0:4:4)")
    flat = merged_axes(layout, ((0,), (1, 2)), (64, 3, 20))
    for register, lane, warp in itertools.product(range(0, 48, 7), range(32), range(4)):
        a, b, c = layout.coordinates(register, lane, warp)
        assert flat.coordinates(register, lane, warp) == (a, b * 20 + c)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:4:1 | 0:32:4 | 0:2:128)", "nothing moves"),
        ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:2:2 0:2:1 | 0:32:4 | 0:2:128)", "registers by other numbers"),
        (
            "(1 | 0:4:1 | 0:32:4 | 0:2:128)",
            "(1 | 0:2:1 0:2:4 | 0:2:2 0:16:8 | 0:2:128)",
            "2 shuffles and 6 selects a thread (swap)",
        ),
        (
            "(1 | 0:4:1 | 0:32:4 | 0:2:128)",
            "(1 | 0:4:1 | 0:32:8 | 0:2:4)",
            "shared memory, 256 elements by strides (1,), swizzled, 4 a write, 4 a read; a warp: 2 accesses, 8 wavefronts,"
            " 0 bank conflicts",
        ),
    ],
)
def test_plan_reads_in_words(before: str, after: str, text: str) -> None:
    plan = plan_conversion(Side(parse_layout(before)), Side(parse_layout(after)), Tile((256,), 4, clipped=False))
    assert plan.text == text
