"""Names that `ak` has not: a fix keeps the meaning, whatever library the name is of."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from agentkern.compiler.frontend.elsewhere import ABSENT, CONSTANTS
from agentkern.compiler.frontend.expressions import PUBLIC, said_of_unknown
from agentkern.compiler.frontend.later import FOREIGN, LATER
from agentkern.compiler.frontend.slips import slip_of
from agentkern.compiler.frontend.spelled import SPELLED
from agentkern.diagnostics import apply_fix
from tests.compiler.frontend.kernels import accepted, lower, text_of

SIGNATURE = "x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]"
# The public names of triton.language, which is not installed for tests.
TRITON = """
    PropagateNan TRITON_MAX_TENSOR_NUMEL abs add advance arange argmax argmin associative_scan assume atomic_add atomic_and
    atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor bfloat16 block_type broadcast broadcast_to cast cat
    cdiv ceil clamp condition const constexpr constexpr_type core cos cumprod cumsum debug_barrier device_assert
    device_print div_rn dot dot_scaled dtype erf exp exp2 expand_dims extra fdiv flip float16 float32 float64 float8e4b15
    float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full function_type gather histogram inline_asm_elementwise int1
    int16 int32 int64 int8 interleave ir join load load_tensor_descriptor log log2 make_block_ptr make_tensor_descriptor
    map_elementwise math max max_constancy max_contiguous maximum min minimum multiple_of num_programs pair_uniform_to_normal
    permute philox philox_impl pi32_t pointer_type program_id rand rand4x randint randint4x randn randn4x random range
    ravel reduce reduce_or reshape rsqrt semantic sigmoid sin slice softmax sort split sqrt sqrt_rn squeeze standard static_assert
    static_print static_range store store_tensor_descriptor str_to_ty sum swizzle2d target_info tensor tensor_descriptor
    topk trans tuple tuple_type uint16 uint32 uint64 uint8 uint_to_uniform_float umulhi unsqueeze view void where xor_sum
    zeros zeros_like
"""
LIBRARIES = {
    "np": dir(np),
    "torch": dir(torch),
    "F": dir(torch.nn.functional),
    "math": dir(math),
    "tl": TRITON.split(),
}
RENAMED = {name for name, said in FOREIGN.items() if said.startswith("=")} | {*CONSTANTS}


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_name_of_another_library_is_taken_for_one_that_is_spelled_alike(library: str):
    unknown = {name for name in LIBRARIES[library] if name not in PUBLIC and name not in LATER}
    taken = {name: meant for name in unknown if (meant := said_of_unknown(name)[1])}
    assert set(taken) <= RENAMED


def test_what_renamings_name_exists_and_no_name_has_two_rows():
    assert {FOREIGN[name][1:] for name in FOREIGN if FOREIGN[name].startswith("=")} <= {*PUBLIC}
    assert not {*ABSENT} & ({*FOREIGN} | {*PUBLIC} | {*CONSTANTS} | {*LATER})
    assert {*SPELLED} <= {*FOREIGN}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("rsqr", "rsqrt"), ("sqrtt", "sqrt"), ("maxmium", "maximum"), ("Sum", "sum"), ("F32", "f32")],
)
def test_a_slip_of_the_keyboard_is_mended(asked: str, meant: str):
    assert said_of_unknown(asked) == (f"did you mean `ak.{meant}`?", meant)


@pytest.mark.parametrize("asked", ["rsqr2", "sqrd", "maxinum", "f31", "ff", "mx2"])
def test_what_is_no_evident_slip_is_only_named(asked: str):
    hint, meant = said_of_unknown(asked)
    assert not meant
    assert hint.startswith(("the nearest names are `", "see the operations table"))


def test_a_slip_that_two_names_may_be_is_nobodys():
    assert slip_of("axs", ["axis", "axes"]) is None
    assert slip_of("axs", ["axis", "axis"]) == "axis"
    assert slip_of("t", ["T"]) is None


@pytest.mark.parametrize(
    ("name", "written"), [("log10", "ak.log"), ("tan", "ak.sin"), ("pow", "**"), ("elu", "ak.expm1")]
)
def test_a_function_that_is_absent_is_answered_with_how_to_write_it(name: str, written: str):
    hint, meant = said_of_unknown(name)
    assert written in hint
    assert not meant


# An expression of another library, what its fix writes in the expression's place; "": no fix.
EXPRESSIONS = [
    ("x[t, :] * math.pi", "x[t, :] * 3.141592653589793"),
    ("x[t, :] * ak.pi", "x[t, :] * 3.141592653589793"),
    ("torch.nn.functional.silu(x[t, :])", "ak.silu(x[t, :])"),
    ("torch.clamp(x[t, :], 0, 1)", "ak.clip(x[t, :], 0, 1)"),
    ("np.log10(x[t, :])", ""),
    ("np.load(x[t, :])", ""),
    ("ak.fmax(x[t, :], 0)", ""),
    ("torch.var(x[t, :], dim=1, keepdim=True)", ""),
    ("ak.var(x[t, :], axis=1, keepdims=True, ddof=1)", ""),
    (
        "torch.var(x[t, :], dim=1, keepdim=True, correction=0)",
        "ak.mean((x[t, :] - ak.mean(x[t, :], axis=1, keepdims=True)) * "
        "(x[t, :] - ak.mean(x[t, :], axis=1, keepdims=True)), axis=1, keepdims=True)",
    ),
]


@pytest.mark.parametrize(("wrong", "right"), EXPRESSIONS)
def test_an_expression_of_another_library_is_rewritten_only_where_the_meaning_stays(wrong: str, right: str):
    text = text_of(SIGNATURE, f"for t in ak.grid(T):\n    out[t, :] = {wrong} + 0.0 * x[t, :]")
    (found,) = lower(text).diagnostics
    assert found.code in ("AK201", "AK202")
    if not right:
        assert not found.fixes
        return
    mended = apply_fix(text, found.fixes[0])
    assert mended == text.replace(wrong, right)
    assert accepted(mended)


def test_every_unknown_keyword_of_a_call_is_told_at_once_with_its_fix():
    body = "for t in ak.grid(T):\n    out[t, :] = x[t, :] - ak.max(x[t, :], dim=-1, keepdim=True)"
    text = text_of(SIGNATURE, body)
    found = lower(text).diagnostics
    assert [d.code for d in found] == ["AK122", "AK122"]
    for item in reversed(found):
        text = apply_fix(text, item.fixes[0])
    assert accepted(text)


def test_an_unknown_keyword_hides_no_error_behind_it():
    body = "for t in ak.grid(T):\n    out[t, :] = ak.sqrt(ak.elu(x[t, :]), foo=1, bar=ak.tan(x[t, :]))"
    assert sorted(d.code for d in lower(text_of(SIGNATURE, body)).diagnostics) == ["AK122", "AK122", "AK202", "AK202"]
