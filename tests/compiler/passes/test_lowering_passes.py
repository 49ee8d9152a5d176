"""Streams, layouts and the thread-level stage: structure on small kernels; bits are held by test_agreement."""

import pytest

from agentkern.compiler.abi import Variant
from agentkern.compiler.driver import CompileRequest, compile_kernel, legalise
from agentkern.compiler.ir.core import Kernel, walk
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.compiler.layout.layout import contiguous_run, parse_layout
from agentkern.compiler.passes.lower_to_threads import lower_to_threads
from agentkern.compiler.passes.place_layouts import place_layouts
from agentkern.compiler.passes.plan import default_schedule
from agentkern.compiler.passes.stream_rows import stream_rows
from tests.compiler.passes.kernels import ops, tile

SOFT = (
    "def k(x: ak.In[ak.f32, T, H], o: ak.Out[ak.f32, T, H]):\n    for t in ak.grid(T):\n"
    "        r = x[t, :]\n        e = r - ak.max(r, axis=1, keepdims=True)\n"
    "        o[t, :] = e / ak.sum(e, axis=1, keepdims=True)\n"
)
DYNAMIC = SOFT.replace("H", "N")


def streamed(body: str, **dims: int) -> Kernel:
    kernel = legalise(tile(body, **dims))
    kernel = stream_rows(kernel, default_schedule(kernel, Variant()))
    verify_kernel(kernel)
    return kernel


def placed(body: str, **dims: int) -> Kernel:
    kernel = legalise(tile(body, **dims))
    schedule = default_schedule(kernel, Variant())
    kernel = place_layouts(stream_rows(kernel, schedule), schedule)
    verify_kernel(kernel)
    return kernel


def test_row_that_fits_is_not_streamed() -> None:
    assert ops(streamed(SOFT, H=8192), "stream") == []


def test_long_row_is_walked_once_per_dependent_reduction_and_once_to_store() -> None:
    kernel = streamed(SOFT, H=8193)
    assert [op.attrs["kinds"] for op in ops(kernel, "stream")] == [("max",), ("sum",), ()]
    assert len(ops(kernel, "load")) == 3


def test_independent_reductions_share_one_walk() -> None:
    body = (
        "def k(x: ak.In[ak.f32, T, N], o: ak.Out[ak.f32, T], p: ak.Out[ak.f32, T]):\n    for t in ak.grid(T):\n"
        "        r = x[t, :]\n        o[t] = ak.sum(r, axis=1)\n        p[t] = ak.max(r, axis=1)\n"
    )
    assert [op.attrs["kinds"] for op in ops(streamed(body), "stream")] == [("sum", "max")]


def test_run_time_row_is_streamed() -> None:
    assert len(ops(streamed(DYNAMIC), "stream")) == 3


@pytest.mark.parametrize(
    ("size", "extents", "alignment", "copies"),
    [("H", {"H": 7168}, 16, 1), ("H", {"H": 7169}, 16, 2), ("N", {}, 16, 2), ("N", {}, 8, 2), ("N", {}, 4, 2)],
)
def test_steps_are_guarded_only_in_the_one_behind_the_loop_that_may_be_short(
    size: str, extents: dict[str, int], alignment: int, copies: int
) -> None:
    body = (
        f"def k(x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T, {size}]):\n    for t in ak.grid(ak.each(T)):\n"
        f"        for h in ak.steps({size}):\n            o[t, h] = x[t]\n"
    )
    kernel = legalise(tile(body, **extents))
    variant = Variant(alignment=alignment)
    schedule = default_schedule(kernel, variant)
    lowered = lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), variant)
    assert len(ops(lowered, "store_vector")) == copies  # rows that begin at an access also end at one
    (steps,) = [op for op in ops(lowered, "for") if op.regions[0].args[0].name == "h"]
    assert not any(op.name == "if" for op in walk(steps.regions[0].ops))


@pytest.mark.parametrize(("tensor", "copies"), [("ak.Out[ak.f32, T, N]", 1), ("ak.Out[ak.f32, N]", 2)])
def test_an_access_is_taken_apart_only_where_rows_may_end_inside_it(tensor: str, copies: int) -> None:
    axes, index = ("T, N", "t, n") if "T" in tensor else ("N", "n")
    loops = f"    for {index} in ak.grid({axes}):\n        o[{index}] = ak.full(({index}, ), 1.0, ak.f32)\n"
    kernel = legalise(tile(f"def k(x: ak.In[ak.f32, T], o: {tensor}):\n{loops}"))
    schedule = default_schedule(kernel, Variant())
    lowered = lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), Variant())
    assert len(ops(lowered, "store_vector")) == copies


@pytest.mark.parametrize(
    ("statement", "vector", "blocks"),
    [
        ("ak.atomic_add(o[rows[t], n], x[t, n])", 1, (4, 256)),
        ("o[t, n] = x[rows[t], n]", 4, (8, 128)),
    ],
)
def test_neighbours_that_are_updated_one_by_one_lie_in_neighbouring_lanes(
    statement: str, vector: int, blocks: tuple[int, ...]
) -> None:
    access = "InOut" if "atomic" in statement else "Out"
    source = f"x: ak.In[ak.i32, T, N], rows: ak.In[ak.i32, T].values(0, T), o: ak.{access}[ak.i32, T, N]"
    kernel = tile(f"def k({source}):\n    for t, n in ak.grid(T, N):\n        {statement}\n")
    (plan,) = default_schedule(legalise(kernel), Variant()).grids
    assert (plan.vector, plan.tile) == (vector, blocks)


def test_independent_long_axes_become_blocks_of_the_grid() -> None:
    body = "def k(x: ak.In[ak.f32, N, M], o: ak.Out[ak.f32, N, M]):\n    for _ in ak.grid():\n        o[:, :] = %s\n"
    (grid,) = ops(streamed(body % "x[:, :] + 1.0"), "grid")
    assert len(grid.regions[0].args) == 2
    assert ops(streamed(body % "x[:, :] + 1.0"), "stream") == []
    (grid,) = ops(streamed(body % "x[:, :] / ak.sum(x[:, :], axis=1, keepdims=True)"), "grid")
    assert len(grid.regions[0].args) == 1


def test_dependent_long_axes_are_walked_one_inside_the_other() -> None:
    body = (
        "def k(x: ak.In[ak.f32, N, M], o: ak.Out[ak.f32, N, M]):\n    for _ in ak.grid():\n"
        "        o[:, :] = x[:, :] / (ak.sum(x[:, :], axis=1, keepdims=True) + ak.sum(x[:, :], axis=0, keepdims=True))\n"
    )
    kernel = streamed(body)
    assert len(ops(kernel, "stream")) == 6
    assert [param.type.access for param in kernel.params if isinstance(param.type, TensorType)][2:] == ["scratch"] * 2


def test_row_kernel_converts_no_layout() -> None:
    kernel = placed(SOFT, H=7168)
    assert ops(kernel, "convert") == []
    layouts = {op.result.type.layout for op in ops(kernel, "sub") if isinstance(op.result.type, TileType)}
    assert len(layouts) == 1


TURN = (
    "def k(x: ak.In[ak.f32, N, M], o: ak.Out[ak.f32, M, N]):\n    for n, m in ak.grid(N, M):\n"
    "        o[m, n] = x[n, m].T\n"
)


@pytest.mark.parametrize("dtype", ["bf16", "f32", "e4m3", "f64"])
def test_a_transposition_is_turned_once_and_reads_and_writes_whole_sectors(dtype: str) -> None:
    kernel = placed(TURN.replace("f32", dtype))
    assert len(ops(kernel, "convert")) == 1
    for tile_ in (ops(kernel, "load")[0].result, ops(kernel, "store")[0].operands[1]):
        assert isinstance(tile_.type, TileType)
        assert tile_.type.layout is not None
        assert contiguous_run(parse_layout(tile_.type.layout), 1) * tile_.type.dtype.nbytes >= 64


def test_short_rows_are_transposed_as_they_lie() -> None:
    assert (
        ops(
            placed(TURN.replace("M]", "4]").replace("[ak.f32, M,", "[ak.f32, 4,").replace("(N, M)", "(N, 4)")),
            "convert",
        )
        == []
    )


def test_a_column_beside_rows_makes_no_squares() -> None:
    body = (
        "def k(x: ak.In[ak.f32, N, M], c: ak.In[ak.f32, N], o: ak.Out[ak.f32, N, M]):\n    for n, m in ak.grid(N, M):\n"
        "        o[n, m] = x[n, m] + c[n][:, None]\n"
    )
    assert default_schedule(legalise(tile(body)), Variant()).grids[0].tile == (8, 128)


def test_axis_twice_in_one_value_is_converted() -> None:
    body = (
        "def k(x: ak.In[ak.f32, T, 8], o: ak.Out[ak.f32, T, 8, 8]):\n    for t in ak.grid(T):\n"
        "        a = x[t, :]\n        o[t, :, :] = a[:, :, None] * a[:, None, :]\n"
    )
    assert len(ops(placed(body), "convert")) >= 1


@pytest.mark.parametrize("extent", [1, 5, 128, 576, 1000, 7168])
def test_layouts_cover_their_tiles(extent: int) -> None:
    kernel = placed(SOFT, H=extent)
    for op in ops(kernel, "sub"):
        type_ = op.result.type
        assert isinstance(type_, TileType)
        assert type_.layout is not None
        layout = parse_layout(type_.layout)
        assert layout.shape[1] >= extent
        held = {
            layout.coordinate(1, register, lane, warp)
            for register in range(layout.register_count)
            for lane in range(32)
            for warp in range(layout.warp_count)
        }
        assert held >= set(range(extent))


def test_sums_lanes_and_warps_stay_inside_the_orders_partials() -> None:
    body = "def k(x: ak.In[ak.f32, H, M], o: ak.Out[ak.f32, M]):\n    for m in ak.grid(M):\n        o[m] = ak.sum(x[:, m], axis=0)\n"
    kernel = placed(body, H=256)
    type_ = ops(kernel, "sum")[0].operands[0].type
    assert isinstance(type_, TileType)
    assert type_.layout is not None
    layout = parse_layout(type_.layout)
    reach = [d.extent * d.stride for d in layout.lanes + layout.warps if d.axis == 0]
    assert max(reach, default=1) <= 32


def test_reduction_across_warps_exchanges_once_between_barriers() -> None:
    body = SOFT.replace("ak.max(r, axis=1, keepdims=True)", "1.0").replace("x: ak.In[ak.f32", "x: ak.In[ak.bf16")
    kernel = legalise(tile(body.replace("r = x[t, :]", "r = x[t, :].to(ak.f32)"), H=7168))
    schedule = default_schedule(kernel, Variant())
    lowered = lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), Variant())
    verify_kernel(lowered)
    assert len(ops(lowered, "barrier")) == 1
    assert len(ops(lowered, "shared")) == 1
    assert len(ops(lowered, "shuffle_xor")) == 5


def test_row_in_one_warp_needs_no_barrier() -> None:
    kernel = legalise(tile(SOFT, H=128))
    schedule = default_schedule(kernel, Variant())
    lowered = lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), Variant())
    assert ops(lowered, "barrier") == []


def test_tile_larger_than_the_registers_is_walked_in_parts() -> None:
    body = (
        "def k(x: ak.In[ak.f32, N, M], o: ak.Out[ak.f32, N, M]):\n    for n, m in ak.grid(N, M, block=(1024, %d)):\n"
        "        o[n, m] = x[n, m] + 1.0\n"
    )
    assert len(ops(placed(body % 1024), "stream")) == 2
    assert ops(placed(body % 8), "stream") == []


COLUMN = "def k(x: ak.In[ak.f32, H, M], o: ak.Out[ak.f32, M]):\n    for m in ak.grid(M):\n        o[m] = ak.sum(x[:, m], axis=0)\n"


def test_column_longer_than_a_panel_is_streamed() -> None:
    assert ops(streamed(COLUMN, H=256), "stream") == []
    assert len(ops(streamed(COLUMN, H=257), "stream")) == 1


def test_two_long_columns_of_one_grid_are_kept() -> None:
    body = (
        "def k(x: ak.In[ak.f32, H, M], y: ak.In[ak.f32, G, M], o: ak.Out[ak.f32, M]):\n    for m in ak.grid(M):\n"
        "        o[m] = ak.sum(x[:, m], axis=0) + ak.sum(y[:, m], axis=0)\n"
    )
    assert ops(streamed(body, H=300, G=400), "stream") == []


CAST_ROWS = """
import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def kernel(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.i8, T, H]):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        out[t, :] = ak.round(row / ak.absmax(row, axis=1, keepdims=True)).to(ak.i8)
"""


@pytest.mark.parametrize(("columns", "vector"), [(8192, 16), (7168, 8), (64, 16)])
def test_a_thread_holds_fewer_neighbours_where_rows_then_fill_it(columns, vector):
    """7168 elements of sixteens are three and a half for each of 128 threads, of eights seven."""
    result = compile_kernel(CompileRequest(CAST_ROWS, "kernel.py", dims={"H": columns}))
    assert result.schedule is not None
    assert result.schedule.grids[0].vector == vector
