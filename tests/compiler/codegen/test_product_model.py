"""The model that products are held to on a GPU gives exact sums where sums are exact, whatever the operand types."""

import numpy as np
import pytest

from agentkern.compiler.targets.instructions_index import find_instruction
from agentkern.compiler.targets.instructions_matrix import INTEGERS
from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from tests.gpu.product_bits import FORMATS, ProductModel, pointer
from tests.gpu.product_cases import fragment_words, integer_product, rows_of, shared_operand

pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> ProductModel:
    return ProductModel(tmp_path_factory.mktemp("product_model"))


NAMES = [row.name for row in rows_of("mma") if row.operand("a").dtype not in INTEGERS]
NAMES += ["ak_wgmma_m64n40k32_f32_e4m3_e5m2_rs", "ak_wgmma_m64n256k16_f32_f16_ss", "ak_wgmma_m64n8k8_f32_tf32_ss"]


@pytest.mark.parametrize("name", NAMES)
def test_small_integers_are_summed_exactly(model, name):
    row = find_instruction(name)
    product = integer_product(row, seed=3)
    a = np.ascontiguousarray(product.a).view(np.uint8)
    b = np.ascontiguousarray(product.b.T).view(np.uint8)
    assert (model.result(row, a, b, product.c, adds=True) == product.d).all()
    other = product.c.copy()
    other[0, 0] = 0x42F00000
    assert not (model.result(row, a, b, other, adds=True) == product.d).all()


def test_runs_of_neighbouring_rows_cover_every_category(model):
    rows = rows_of("wgmma")[:5]
    labels = {case.label.split(",")[0] for number, row in enumerate(rows) for case in model.cases(row, number)}
    assert len(labels) == model.n_categories


def test_every_byte_of_an_operand_has_its_own_place_in_shared_memory():
    stored = np.arange(1, 64 * 16 + 1, dtype=np.uint16).reshape(64, 16)
    for major in ("k", "mn"):
        for width in SWIZZLES:
            operand = shared_operand(stored, major, width)
            held = operand.image.view(np.uint16)
            assert sorted(held[held != 0].tolist()) == list(range(1, 64 * 16 + 1))
            assert operand.start + 32 <= max(width, 32)


def test_packed_elements_lie_low_part_first():
    row = find_instruction("ak_mma_m16n8k16_f32_bf16")
    fragment = row.operand("a").fragment
    stored = np.arange(256, dtype=np.uint16).reshape(16, 16)
    words = fragment_words(fragment, stored, 32)
    assert words[:2].tolist() == [0x00010000, 0x00030002]
    assert words[32] == 0x00810080
    assert FORMATS["u8"] == FORMATS["i8"]
    assert pointer(words).value == words.ctypes.data
