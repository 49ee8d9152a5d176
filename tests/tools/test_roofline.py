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


RAGGED = """\
import agentkern as ak

T, E, N = ak.dim("T"), ak.dim("E"), ak.dim("N")


@ak.kernel
def scaled(x: ak.In[ak.f32, T, N], offsets: ak.In[ak.i32, E + 1].offsets(T), out: ak.Out[ak.f32, T, N],
           total: ak.Out[ak.f32, E, N]):
    for s, n in ak.grid(ak.segments(offsets), N):
        total[s.ordinal, n] = ak.sum(x[s, n], axis=0)
    for (s, m), n in ak.grid(ak.segments(offsets).blocks(block=16), N):
        out[m, n] = x[m, n] * 2.0
"""


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


GATHER = """\
import agentkern as ak

B, T, S, H = ak.dim("B"), ak.dim("T"), ak.dim("S"), ak.static("H")


@ak.kernel
def rows(table: ak.In[ak.f16, S, H], ids: ak.In[ak.i32, B, T].values(0, S), out: ak.Out[ak.f16, B, T, H]):
    for b, t in ak.grid(ak.each(B), T):
        out[b, t, :] = table[ids[b, t], :]
"""


@pytest.mark.parametrize(("numbers", "rows_read"), [(2, 6), (10, 25)])
def test_a_gather_reads_what_is_asked_for_at_most_the_tensor(numbers: int, rows_read: int):
    work = kernel_work(tile(GATHER, H=8), {"B": 3, "T": numbers, "S": 25})
    assert work is not None
    assert work.bytes_read == 2 * 8 * rows_read + 4 * 3 * numbers


@pytest.mark.parametrize(("rows_of_table", "rows_read"), [(8, 8), (25, 2 * 3 + 3)])
def test_what_several_accesses_ask_for_adds_up_to_at_most_the_tensor(rows_of_table: int, rows_read: int):
    both = GATHER.replace("table[ids[b, t], :]", "table[ids[b, t], :] + table[0, :]").replace('("S")', '("S", min=1)')
    work = kernel_work(tile(both, H=8), {"B": 3, "T": 2, "S": rows_of_table})
    assert work is not None
    assert work.bytes_read == 2 * 8 * rows_read + 4 * 6


IN_PLACE = """\
import agentkern as ak

T, S, H = ak.dim("T"), ak.dim("S"), ak.static("H")


@ak.kernel
def put(x: ak.In[ak.i32, T, H], ids: ak.In[ak.i32, T].values(0, S).distinct(), y: ak.InOut[ak.i32, S, H]):
    for t in ak.grid(T):
        ak.store(y[ids[t], :], x[t, :])
"""


@pytest.mark.parametrize(("rows", "of"), [(3, 25), (25, 25)])
def test_a_scatter_writes_what_it_is_given_and_reads_nothing_of_its_tensor(rows: int, of: int):
    work = kernel_work(tile(IN_PLACE, H=8), {"T": rows, "S": of})
    assert work is not None
    assert work.bytes_read == 4 * 8 * rows + 4 * rows
    assert work.bytes_written == 4 * 8 * rows


@pytest.mark.parametrize(("rows", "touched"), [(3, 3), (40, 25)])
def test_atomics_read_and_write_what_they_combine_at_most_the_tensor(rows: int, touched: int):
    adds = IN_PLACE.replace("ak.store", "ak.atomic_add").replace(".distinct()", "")
    work = kernel_work(tile(adds, H=8), {"T": rows, "S": 25})
    assert work is not None
    assert work.bytes_read == 4 * 8 * rows + 4 * rows + 4 * 8 * touched
    assert work.bytes_written == 4 * 8 * touched


def test_a_slice_of_a_tensor_in_place_moves_that_slice_twice():
    text = IN_PLACE.replace("ak.store(y[ids[t], :], x[t, :])", "y[t, : H // 2] = y[t, : H // 2] + x[t, : H // 2]")
    work = kernel_work(tile(text.replace("S, H]", "T, H]"), H=8), {"T": 5, "S": 1})
    assert work is not None
    assert work.bytes_read == 2 * 4 * 4 * 5
    assert work.bytes_written == 4 * 4 * 5


STEPS = """\
import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def total(x: ak.In[ak.f32, T, N], scale: ak.f32, out: ak.Out[ak.f32, T]):
    factor = scale * 2.0
    for t in ak.grid(T):
        acc = ak.zeros((t,), ak.f32)
        for c in ak.steps(N, block=100):
            acc = acc * factor + ak.sum(x[t, c], axis=1)
        out[t] = acc
"""


def test_a_step_counts_once_for_each_step_and_scalars_not_at_all():
    work = kernel_work(tile(STEPS), {"T": 3, "N": 250})
    assert work is not None
    assert work.flops == 3 * 250 + 3 * 3 * 2


def test_segments_are_as_long_as_all_of_them_together():
    rows, segments, width = 100, 7, 10
    work = kernel_work(tile(RAGGED), {"T": rows, "E": segments, "N": width})
    assert work is not None
    assert work.bytes_read == 4 * rows * width + 4 * (segments + 1)
    assert work.bytes_written == 4 * (rows + segments) * width
    assert work.flops == 2 * rows * width


PARTS = """\
import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def columns(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, 4, H]):
    for p, h in ak.grid(ak.parts(T, 4), H):
        out[p.ordinal, h] = ak.sum(x[p, h] * 2.0, axis=0)
"""


@pytest.mark.parametrize("rows", [0, 3, 10, 1000])
def test_the_parts_of_a_range_are_together_the_range(rows: int):
    work = kernel_work(tile(PARTS, H=5), {"T": rows})
    assert work is not None
    assert (work.bytes_read, work.bytes_written, work.flops) == (4 * 5 * rows, 4 * 4 * 5, 2 * 5 * rows)


def test_what_values_decide_is_not_certain_to_move():
    gathered = kernel_work(tile(GATHER, H=8), {"B": 3, "T": 2, "S": 25})
    assert gathered is not None
    assert (gathered.bytes_maybe_read, gathered.bytes_maybe_written) == (2 * 8 * 6, 0)
    scattered = kernel_work(tile(IN_PLACE, H=8), {"T": 3, "S": 25})
    assert scattered is not None
    assert (scattered.bytes_maybe_read, scattered.bytes_maybe_written) == (0, 4 * 8 * 3)
    plain = kernel_work(tile(RMS_NORM, H=8), {"T": 7})
    assert plain is not None
    assert (plain.bytes_maybe_read, plain.bytes_maybe_written) == (0, 0)


EARLY = """\
import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def total(x: ak.In[ak.f32, N], m: ak.In[ak.f32, N], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        s = ak.zeros((t,), ak.f32)
        for n in ak.steps(ak.each(N){limit}):
            s = s + {load}
            {end}
        out[t] = s
"""


@pytest.mark.parametrize(
    ("limit", "load", "end", "maybe"),
    [
        ("", "x[n]", "pass", 0),
        ("", "ak.load(x[n], where=m[n] > 0.0, fill=0.0)", "pass", 40),
        ("", "x[n // 2]", "pass", 40),
        ("", "x[n]", "if x[n] > 5.0: break", 40),
        (", until=t.index + 1", "x[n]", "pass", 40),
    ],
)
def test_masks_and_loops_that_end_early_make_bytes_uncertain(limit, load, end, maybe):
    text = EARLY.format(limit=limit, load=load, end=end)
    work = kernel_work(tile(text), {"T": 1, "N": 10})
    assert work is not None
    assert work.bytes_maybe_read == maybe


BETWEEN = """\
import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def total(x: ak.In[ak.f32, N], ends: ak.In[ak.i64, T].values(0, N + 1), out: ak.Out[ak.f32, T]):
    for t in ak.grid(ak.each(T)):
        s = ak.zeros((1,), ak.f32)
        for c in ak.steps(0, ends[t], block=8):
            s = s + ak.sum(x[c] * 2.0)
        out[t] = s[0]
"""


def test_what_data_bounds_has_a_floor_of_what_sizes_decide():
    work = kernel_work(tile(BETWEEN), {"T": 2, "N": 10})
    assert work is not None
    assert work.flops < 2 * 10
    assert kernel_work(tile(BETWEEN), {"T": 2}) is None
