"""Boxes and descriptors name the same bytes exactly when their swizzles, strides and majors fit."""

import numpy as np
import pytest

from agentkern.compiler.analysis.synchronisation_matrices import (
    Layout,
    Operand,
    box_layout,
    matrix_layout,
    operands_of,
    repeat_bytes,
)
from agentkern.compiler.analysis.synchronisation_memory import Boxes
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.gpu_async_ops import GPU_ASYNC_OPS
from agentkern.compiler.ir.gpu_types import TensorMap
from agentkern.dsl.dtypes import DTYPES

BF16 = DTYPES["bf16"]
COPY = Op(GPU_ASYNC_OPS["tma_load"])
SPANS = (32, 64, 128)


def filled(map_: TensorMap, start: int) -> Boxes:
    boxes = Boxes(1 << 17)
    boxes.fill(box_layout(map_, start), COPY)
    return boxes


def taken_apart(boxes: Boxes, layout: Layout) -> Op | None:
    return next((op for op, is_torn in boxes.copies(layout) if is_torn), None)


@pytest.mark.parametrize("span", SPANS)
def test_a_box_takes_each_of_its_bytes_once(span: int):
    layout = box_layout(TensorMap(BF16, (64, span // 2), span), 2048)
    assert sorted(layout.at.tolist()) == list(range(2048 // 16, 2048 // 16 + 64 * span // 16))


@pytest.mark.parametrize("span", SPANS)
def test_every_k_step_of_a_k_major_box_lies_in_its_rows(span: int):
    boxes = filled(TensorMap(BF16, (64, span // 2), span), 2048)
    for step in range(span // 32):
        layout = matrix_layout(Operand(64, 16, 2, k_major=True), 2048 + 32 * step, 16, 8 * span, span)
        assert taken_apart(boxes, layout) is None
        assert (boxes.column[layout.at] - layout.column == 2 * step).all()


@pytest.mark.parametrize("span", SPANS)
def test_an_mn_major_box_lies_in_rows_of_k(span: int):
    boxes = filled(TensorMap(BF16, (64, span // 2), span), 4096)
    layout = matrix_layout(Operand(span // 2, 16, 2, k_major=False), 4096 + 16 * span, 64 * span, 8 * span, span)
    assert taken_apart(boxes, layout) is None
    assert (boxes.row[layout.at] - layout.row == 16).all()


@pytest.mark.parametrize(("stride", "span"), [(512, 128), (2048, 128), (1024, 64), (1024, 0)])
def test_another_stride_or_swizzle_takes_the_box_apart(stride: int, span: int):
    boxes = filled(TensorMap(BF16, (128, 64), 128), 0)
    assert taken_apart(boxes, matrix_layout(Operand(64, 16, 2, k_major=True), 0, 16, 1024, 128)) is None
    assert taken_apart(boxes, matrix_layout(Operand(64, 16, 2, k_major=True), 0, 16, stride, span)) is COPY


def test_a_box_without_swizzle_is_read_in_core_matrices():
    """Rows of 16 bytes: eight to a core matrix, the second half of k in another box."""
    boxes = Boxes(1 << 13)
    for half in (0, 1):
        boxes.fill(box_layout(TensorMap(BF16, (64, 8), 0), 1024 * half), COPY)
    layout = matrix_layout(Operand(64, 16, 2, k_major=True), 0, 1024, 128, 0)
    assert taken_apart(boxes, layout) is None
    assert np.array_equal(np.sort(layout.at), np.arange(128))
    assert taken_apart(boxes, matrix_layout(Operand(64, 16, 2, k_major=True), 0, 1024, 256, 0)) is COPY


def test_operands_follow_the_name_of_the_instruction():
    assert operands_of("m64n256k16_f32_bf16_ss") == (
        Operand(64, 16, 2, k_major=True),
        Operand(256, 16, 2, k_major=True),
    )
    assert operands_of("m64n128k16_f32_f16_rs_bt") == (None, Operand(128, 16, 2, k_major=False))
    assert operands_of("m64n64k32_s32_s8_u8_ss")[1] == Operand(64, 32, 1, k_major=True)
    assert operands_of("m64n8k32_f32_e4m3_e5m2_ss")[0] == Operand(64, 32, 1, k_major=True)
    assert operands_of("m64n16k8_f32_tf32_ss")[1] == Operand(16, 8, 4, k_major=True)


@pytest.mark.parametrize(("span", "period"), [(0, 128), (32, 256), (64, 512), (128, 1024)])
def test_patterns_repeat_after_eight_rows(span: int, period: int):
    assert repeat_bytes(span) == period
