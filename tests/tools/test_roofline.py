"""Bytes and flops of a kernel, counted by hand."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.tools.roofline import kernel_work, roofline
from tests.tools.kernel_texts import ADD, RMS_NORM

GROUPS = """\
import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def largest(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, ak.cdiv(H, 128)]):
    for t, h in ak.grid(T, H, block=(None, 128)):
        out[t, h.ordinal] = ak.max(x[t, h], axis=1) + 1.0
"""


def tile(source: str, **dims: int) -> Kernel:
    kernel = lower_source(source, "kernel.py", None, dims, {}).kernel
    assert kernel is not None
    return kernel


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_an_element_kernel_moves_each_tensor_once(n: int):
    work = kernel_work(tile(ADD), {"N": n})
    assert work is not None
    assert (work.bytes_read, work.bytes_written, work.flops) == (8 * n, 4 * n, 2 * n)


def test_a_row_kernel_counts_rows_and_elements():
    rows, width = 5, 7
    work = kernel_work(tile(RMS_NORM, H=width), {"T": rows})
    assert work is not None
    assert work.bytes_moved == 2 * (2 * rows * width) + 2 * width
    # squares, sum, two products per element; division, addition and rsqrt per row
    assert work.flops == 4 * rows * width + 3 * rows


@pytest.mark.parametrize(("width", "blocks"), [(128, 1), (300, 3)])
def test_one_value_per_written_block_is_counted_once_for_each(width: int, blocks: int):
    work = kernel_work(tile(GROUPS, H=width), {"T": 2})
    assert work is not None
    assert work.flops == 2 * width + 2 * blocks


def test_a_size_that_is_not_given_leaves_the_roofline_open():
    found = roofline(tile(RMS_NORM, H=8), {}, "sm_90a")
    assert (found.bytes, found.flops, found.floor_us) == (None, None, None)
