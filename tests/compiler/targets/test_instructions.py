"""Instruction rows as data: fragments hold every element once and are those of the PTX ISA's figures."""

from itertools import product
from math import prod

import pytest

from agentkern.compiler.layout.swizzle import HARDWARE_SWIZZLES
from agentkern.compiler.targets.instructions import Fragment, Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.compiler.targets.instructions_matrix import OPERAND_BITS, a_fragment, b_fragment, matrix_fragment
from agentkern.compiler.targets.instructions_swizzles import SWIZZLES


def rows() -> list[Instruction]:
    found = [find_instruction(name) for name in instruction_names()]
    return [row for row in found if row is not None]


def held(fragment: Fragment, threads: int) -> list[tuple[int, ...]]:
    """All elements that the threads hold, in order of register, part and thread."""
    numbers = product(range(fragment.register_count), range(fragment.packed), range(threads))
    return [fragment.coordinates(thread, register, part) for register, part, thread in numbers]


THREADS = {"warp": 32, "warpgroup": 128}


def test_every_register_operand_is_held_exactly_once():
    seen: set[tuple[Fragment, str]] = set()
    for row in rows():
        for operand in row.operands:
            if operand.fragment is None or (operand.fragment, row.executors) in seen:
                continue
            seen.add((operand.fragment, row.executors))
            elements = held(operand.fragment, THREADS[row.executors])
            assert len(elements) == len(set(elements)) == prod(operand.shape), row.name
            assert set(elements) == set(product(*map(range, operand.shape))), row.name
    assert len(seen) > 30


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_moved_matrices_are_held_exactly_once(count, transposed):
    elements = held(matrix_fragment(count, transposed=transposed), 32)
    assert sorted(elements) == list(product(range(count), range(8), range(8)))


def test_accumulator_of_a_warpgroup_is_the_figures():
    fragment = find_instruction("ak_wgmma_m64n24k16_f32_bf16_ss").operand("d").fragment
    for i, thread in product(range(12), range(128)):
        row = thread // 32 * 16 + thread % 32 // 4 + (8 if i % 4 >= 2 else 0)
        column = i // 4 * 8 + thread % 4 * 2 + i % 2
        assert fragment.coordinates(thread, i) == (row, column)


def test_sixteen_bit_operands_of_a_warp_are_the_figures():
    a, b = a_fragment(16, "bf16"), b_fragment("bf16")
    for i, lane in product(range(8), range(32)):
        row = lane // 4 + (0 if i in (0, 1, 4, 5) else 8)
        column = lane % 4 * 2 + i % 2 + (0 if i < 4 else 8)
        assert a.coordinates(lane, i // 2, i % 2) == (row, column)
    for i, lane in product(range(4), range(32)):
        assert b.coordinates(lane, i // 2, i % 2) == (lane % 4 * 2 + i % 2 + (0 if i < 2 else 8), lane // 4)


def test_eight_bit_operands_of_a_warp_are_the_figures():
    a, b = a_fragment(16, "e4m3"), b_fragment("i8")
    for i, lane in product(range(16), range(32)):
        row = lane // 4 + (0 if i < 4 or 8 <= i < 12 else 8)
        column = lane % 4 * 4 + i % 4 + (0 if i < 8 else 16)
        assert a.coordinates(lane, i // 4, i % 4) == (row, column)
    for i, lane in product(range(8), range(32)):
        assert b.coordinates(lane, i // 4, i % 4) == (lane % 4 * 4 + i % 4 + (0 if i < 4 else 16), lane // 4)


def test_tf32_operands_of_a_warp_are_the_figures():
    a, b = a_fragment(16, "tf32"), b_fragment("tf32")
    for i, lane in product(range(4), range(32)):
        assert a.coordinates(lane, i) == (lane // 4 + (i % 2) * 8, lane % 4 + i // 2 * 4)
    for i, lane in product(range(2), range(32)):
        assert b.coordinates(lane, i) == (lane % 4 + i * 4, lane // 4)


def test_loaded_matrices_feed_a_product_of_a_warp():
    """Four matrices (rows 0-7 and 8-15, then the next 8 columns) are the registers of A; transposed ones those of B."""
    a, loaded = a_fragment(16, "bf16"), matrix_fragment(4, transposed=False)
    b, transposed = b_fragment("bf16"), matrix_fragment(2, transposed=True)
    for register, part, lane in product(range(4), range(2), range(32)):
        matrix, row, column = loaded.coordinates(lane, register, part)
        assert a.coordinates(lane, register, part) == (matrix % 2 * 8 + row, matrix // 2 * 8 + column)
    for register, part, lane in product(range(2), range(2), range(32)):
        matrix, row, column = transposed.coordinates(lane, register, part)
        assert b.coordinates(lane, register, part) == (matrix * 8 + row, column)


def test_register_arrays_are_as_long_as_their_fragments():
    for row in rows():
        lengths = {p.name: p.count for p in row.parameters if p.count}
        for operand in row.operands:
            if operand.fragment is not None:
                assert lengths[operand.role] == operand.fragment.register_count, row.name
            else:
                assert f"desc_{operand.role}" in {p.name for p in row.parameters}, row.name
        if row.data is not None:
            assert lengths["r"] == row.data.register_count == row.number


def test_only_sixteen_bit_operands_lie_along_m_or_n():
    across = [o for row in rows() for o in row.operands if o.major == "mn"]
    assert {OPERAND_BITS[o.dtype] for o in across} == {16}
    assert {o.role for o in across} == {"a", "b"}


def test_steps_are_32_bytes_of_k():
    for row in rows():
        if row.shape_mnk is not None:
            m, n, k = row.shape_mnk
            assert k * OPERAND_BITS[row.operand("a").dtype] == 256
            assert [o.shape for o in row.operands] == [(m, k), (k, n), (m, n)]


def test_every_placeholder_is_a_parameter_or_the_result():
    for row in rows():
        names = {p.name for p in row.parameters} | ({"result"} if row.result != "void" else set())
        used = {piece.split(",")[0].split("]")[0].split(";")[0].split("}")[0] for piece in row.ptx.split("$")[1:]}
        unpinned = "" if row.name.startswith("ak_wgmma_pin_") else names
        assert used == set(unpinned), row.name


def test_rows_below_90_are_those_of_the_older_target():
    older = {row.family for row in rows() if row.exists_on("sm_80")}
    assert older == {"mma", "ldmatrix", "cp_async", "mbarrier", "named_barrier", "wgmma_order"}
    assert not find_instruction("ak_mbarrier_try_wait").exists_on("sm_80")
    assert find_instruction("ak_mbarrier_test_wait").exists_on("sm_80")


def test_architecture_specific_rows_do_not_carry_over():
    assert find_instruction("ak_setmaxnreg_inc_240").exists_on("sm_100a")
    assert not find_instruction("ak_wgmma_commit").exists_on("sm_100a")
    assert find_instruction("ak_tma_load_2d").exists_on("sm_100a")


def test_codes_of_swizzles_are_distinct_and_their_rows_those_of_the_layouts():
    assert set(SWIZZLES) == set(HARDWARE_SWIZZLES)
    assert sorted(mode.map_code for mode in SWIZZLES.values()) == [0, 1, 2, 3]
    assert sorted(mode.descriptor_code for mode in SWIZZLES.values()) == [0, 1, 2, 3]
    assert [SWIZZLES[w].descriptor_code for w in (128, 64, 32)] == [1, 2, 3]
    assert [SWIZZLES[w].map_code for w in (32, 64, 128)] == [1, 2, 3]
