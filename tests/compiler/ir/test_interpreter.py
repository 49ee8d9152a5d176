"""The interpreter against values worked out by hand or by torch in f64."""

from dataclasses import dataclass

import numpy as np
import pytest

from agentkern.compiler.driver import legalise
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.interpreter import InterpreterError, interpret
from agentkern.compiler.ir.interpreter_ops import ELEMENT, REDUCE, SCANS
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.tools.inputs import Kind
from agentkern.tools.verify_cases import make_call
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import Sizes, signature_of
from tests.compiler.ir.tile_kernels import PER_TOKEN_CAST, RMS_NORM, VECTOR_ADD

F32 = np.float32


@dataclass(frozen=True)
class Program:
    """One kernel, whatever the sizes."""

    kernel: Kernel

    def tile(self, sizes: Sizes) -> Kernel:
        return self.kernel

    def schedules(self, sizes: Sizes, count: int) -> tuple[None, ...]:
        return (None,)


def bf16(values: object) -> np.ndarray:
    """Truncated bf16 patterns of f32 values."""
    return (np.asarray(values, F32).view(np.uint32) >> 16).astype(np.uint16)


def widen(patterns: np.ndarray) -> np.ndarray:
    """The f32 values of bf16 patterns."""
    return (patterns.astype(np.uint32) << 16).view(F32)


def row_kernel(body: str, extent: str = "[T, H]", out: str = "out<f32, [T]>", block: str = "") -> Kernel:
    """A kernel over blocks of rows of `x`, whose body ends in a store."""
    return parse_kernel(f"""
agentkern.ir 1
kernel tile @k(%x: in<f32, {extent}>, %out: {out}) {{}} {{
  size T {{static = false, multiple_of = 1, minimum = 0, maximum = none}}
  grid() {{
  ^(%t: block<%t, T{block}>)
{body}
  }}
}}
""")


def run_rms_norm(rows: int, columns: int, free_block: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(1)
    x, weight = bf16(rng.standard_normal((rows, columns))), bf16(rng.standard_normal(columns))
    out = np.zeros((rows, columns), np.uint16)
    sizes = {"T": rows, "H": columns}
    tensors = {"x": x, "weight": weight, "out": out}
    interpret(parse_kernel(RMS_NORM), tensors, sizes, {"eps": 1e-6}, free_block=free_block)
    return out


@pytest.mark.parametrize("n", [0, 1, 7, 576])
def test_vector_add_is_the_ieee_sum_at_every_extent(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n).astype(F32), rng.standard_normal(n).astype(F32)
    out = np.full(n, np.nan, F32)
    interpret(parse_kernel(VECTOR_ADD), {"x": x, "y": y, "out": out}, {"N": n}, {})
    assert np.array_equal(out, x + y)


def test_rms_norm_is_within_a_bf16_rounding_of_float64() -> None:
    rng = np.random.default_rng(1)
    x, weight = bf16(rng.standard_normal((5, 576))), bf16(rng.standard_normal(576))
    wide = widen(x).astype(np.float64)
    want = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * widen(weight)
    got = widen(run_rms_norm(5, 576))
    assert np.max(np.abs(got - want) / np.abs(want)) <= 2.0**-8


@pytest.mark.parametrize("free_block", [1, 2, 3, 64])
def test_bits_do_not_depend_on_the_size_of_free_blocks(free_block: int) -> None:
    assert np.array_equal(run_rms_norm(7, 131), run_rms_norm(7, 131, free_block))


def test_per_token_cast_scales_a_clipped_group_by_its_present_elements() -> None:
    x = bf16(np.full((2, 130), 3.5))
    x[:, 129] = bf16(7.0)
    q, sf = np.zeros((2, 130), np.uint8), np.zeros((2, 2), F32)
    interpret(parse_kernel(PER_TOKEN_CAST), {"x": x, "q": q, "sf": sf}, {"T": 2, "H": 130}, {})
    assert np.array_equal(sf, np.tile(np.asarray([3.5, 7.0], F32) / F32(448), (2, 1)))
    # 448 is 0x7E, 224 is 0x76
    assert q[0, [0, 128, 129]].tolist() == [0x7E, 0x76, 0x7E]


def test_short_static_sum_adds_bit_0_then_3_then_1_then_2() -> None:
    x = np.random.default_rng(3).standard_normal((1, 16)).astype(F32) * F32(1e3)
    kernel = row_kernel(
        """    %v = load(%x, %t) {index = ["$0", ":"]} : tile<f32, [%t, 16]>
    %s = sum(%v) {axes = [1], keepdims = false} : tile<f32, [%t]>
    store(%out, %s, %t) {index = ["$0"]}""",
        extent="[T, 16]",
    )
    pairs = [x[0, k] + x[0, k + 1] for k in range(0, 16, 2)]
    eighths = [pairs[k] + pairs[k + 4] for k in range(4)]
    want = (eighths[0] + eighths[1]) + (eighths[2] + eighths[3])
    out = np.zeros(1, F32)
    interpret(kernel, {"x": x, "out": out}, {"T": 1}, {})
    assert out[0] == want


def test_sum_over_a_clipped_written_block_keeps_the_order_of_the_whole_block() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((1, 24)).astype(F32) * F32(1e4)
    kernel = row_kernel(
        """    %v = load(%x, %t) {index = [":", "$0"]} : tile<f32, [1, %t]>
    %s = sum(%v) {axes = [0, 1], keepdims = false} : f32
    %n = ordinal(%t) : i64
    store(%out, %s, %n) {index = ["$0"]}""",
        extent="[1, T]",
        out="out<f32, [(T + 15) // 16]>",
        block=", 16",
    )
    clipped, padded = np.zeros(2, F32), np.zeros(2, F32)
    interpret(kernel, {"x": rows, "out": clipped}, {"T": 24}, {})
    interpret(kernel, {"x": np.pad(rows, ((0, 0), (0, 8)), constant_values=-0.0), "out": padded}, {"T": 32}, {})
    assert np.array_equal(clipped, padded)


def test_moves_keep_the_payload_of_a_nan_and_arithmetic_does_not() -> None:
    kernel = row_kernel(
        """    %v = load(%x, %t) {index = ["$0"]} : tile<f32, [%t]>
    %c = eq(%v, %v) : tile<bool, [%t]>
    %m = where(%c, %v, %v) : tile<f32, [%t]>
    store(%out, %m, %t) {index = ["$0"]}""",
        extent="[T]",
    )
    x = np.asarray([0xFFA00001], np.uint32).view(F32)
    out = np.zeros(1, F32)
    interpret(kernel, {"x": x, "out": out}, {"T": 1}, {})
    assert out.view(np.uint32)[0] == 0xFFA00001
    interpret(parse_kernel(VECTOR_ADD), {"x": x, "y": x, "out": out}, {"N": 1}, {})
    assert out.view(np.uint32)[0] == 0x7FFFFFFF


def test_index_past_the_edge_is_an_error_and_never_wraps() -> None:
    kernel = row_kernel(
        """    %n = ordinal(%t) : i64
    %v = load(%x, %n) {index = ["$0"]} : f32
    store(%out, %v, %n) {index = ["$0"]}""",
        extent="[1]",
        block=", 1",
    )
    out = np.zeros(2, F32)
    interpret(kernel, {"x": np.ones(1, F32), "out": out[:1]}, {"T": 1}, {})
    with pytest.raises(InterpreterError, match="index 1:2 of axis 0"):
        interpret(kernel, {"x": np.ones(1, F32), "out": out}, {"T": 2}, {})


def test_misshapen_tensor_is_named() -> None:
    with pytest.raises(InterpreterError, match="`y` is float32"):
        interpret(parse_kernel(VECTOR_ADD), {"x": np.zeros(2, F32), "y": np.zeros(3, F32)}, {"N": 2}, {})


def test_every_tile_operation_of_the_table_has_a_meaning() -> None:
    elsewhere = {"constant", "size", "broadcast", "reshape", "transpose", "slice", "grid", "load", "store"}
    elsewhere |= {
        "index",
        "ordinal",
        "start",
        "end",
        "arange",
        "concat",
        "last",
        "bitcast_axis",
        "sort",
        "occurrence",
        "bincount",
        "topk",
    }
    elsewhere |= {"loop", "branch", "yield", "atomic", "require", "take"}
    from_passes = {"reciprocal", "divide_by"}
    assert set(TILE_OPS) | from_passes == set(ELEMENT) | set(REDUCE) | set(SCANS) | elsewhere


@pytest.mark.parametrize("kind", ["random", "special"])
@pytest.mark.parametrize("text", [VECTOR_ADD, RMS_NORM, PER_TOKEN_CAST], ids=["vector_add", "rms_norm", "cast"])
def test_passes_above_the_schedule_change_no_bit(text: str, kind: Kind) -> None:
    kernel = parse_kernel(text)
    program = Program(kernel)
    call = make_call(signature_of(kernel), kind, {"N": 40, "T": 6, "H": 200}, {}, 0)
    before = run_interpreter(program, call)
    after = run_interpreter(Program(legalise(kernel)), call)
    for name, raw in before.items():
        assert raw.tobytes() == after[name].tobytes()
