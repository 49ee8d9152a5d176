"""Parameters, sizes, module level, compile-time values."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.types import TensorType, TileType
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

BODY = "for t in ak.grid(T):\n    out[t] = 1.0"
OUT = "out: ak.Out[ak.f32, T]"
PARAMETERS = [
    ("x", "AK213", "x: ak.In[ak.f32, T]"),
    ("x: int", "AK213", "x: ak.i32"),
    ("x: 'ak.In[ak.f32, T]'", "AK213", "x: ak.In[ak.f32, T]"),
    ("x: ak.In[T]", "AK213", "x: ak.In[ak.f32]"),
    ("x: ak.In", "AK213", "x: ak.In[ak.f32]"),
    ("x: ak.f32[T]", "AK213", "x: ak.In[ak.f32, T]"),
    ("x: ak.e4m3", "AK213", "x: ak.f32"),
    ("x: ak.grid", "AK213", "x: ak.f32"),
    ("x: ak.In[ak.f32, -1]", "AK215", "x: ak.In[ak.f32, 1]"),
    ("x: ak.In[ak.f32, T / 2]", "AK506", "x: ak.In[ak.f32, T // 2]"),
    ("x: ak.In[ak.f32, 'T']", "AK215", "x: ak.In[ak.f32, T]"),
    ("x: ak.In[ak.f32, True]", "AK215", "x: ak.In[ak.f32, 1]"),
    ("x: ak.In[ak.f32, T // 0]", "AK504", "x: ak.In[ak.f32, T // 1]"),
    ("x: ak.In[ak.f32, UNKNOWN]", "AK203", "x: ak.In[ak.f32, 2 * H + ak.cdiv(T, 128) % G - 1]"),
    ("x: ak.InOut[ak.f32, T]", "AK310", "x: ak.In[ak.f32, T]"),
    ("x: ak.In[ak.f32, T] | ak.f32", "AK213", "x: ak.In[ak.f32, T] | None"),
    ("x: ak.In[ak.f32, T] + None", "AK213", "x: ak.In[ak.f32, T]"),
    ("x: ak.In[ak.f32, T].values(0, 9)", "AK213", "x: ak.In[ak.i32, T].values(0, 9)"),
    ("x: ak.In[ak.i32, T].partial()", "AK213", "x: ak.In[ak.i32, T].offsets(T)"),
    ("x: ak.In[ak.i32, T].values(0)", "AK122", "x: ak.In[ak.i32, T].distinct(ignore=-1)"),
    ("x: ak.In[ak.i32, T].contiguous()", "AK213", "x: ak.In[ak.i32, T].aligned(16)"),
    ("x: ak.In[ak.i32, T].aligned(12)", "AK213", "x: ak.In[ak.i32, T].aligned(8).values(0, T)"),
    ("x: ak.In[ak.i32, T].aligned(8).aligned(8)", "AK213", "x: ak.In[ak.i32, T].aligned(8).strides(2)"),
    ("x: ak.In[ak.i32, T].strides(T, 1)", "AK213", "x: ak.In[ak.i32, T, T].strides(T + 4, 1)"),
    ("x: ak.In[ak.i32, T].strides(-1)", "AK213", "x: ak.In[ak.i32, T].strides(ak.align(T, 4))"),
    ("x: ak.In[ak.i32, T].strides(0.5)", "AK215", "x: ak.In[ak.i32, T].strides(3)"),
    ("x: ak.In[ak.i4, T]", "AK601", "x: ak.In[ak.i8, T]"),
    ("x: ak.In[ak.f31, T]", "AK202", "x: ak.In[ak.f32, T]"),
    ("x: ak.In[ak.f32, T] = 1", "AK214", "x: ak.In[ak.f32, T]"),
    ("x: ak.f32 = 'a'", "AK214", "x: ak.f32 = 1"),
    ("x: ak.i32 = 1.0", "AK214", "x: ak.i32 = 1"),
    ("x: ak.u8 = 256", "AK214", "x: ak.u8 = 255"),
    ("x: ak.bool = 1", "AK214", "x: ak.bool = True"),
    ("x: ak.f32 = True", "AK214", "x: ak.f32 = -1e-6"),
    ("x: ak.f16 = 70000", "AK214", "x: ak.f16 = 65504"),
    ("x: ak.static_int = 1.5", "AK214", "x: ak.static_int = -1"),
    ("x: ak.static_bool = 1", "AK214", "x: ak.static_bool = False"),
    ("x: ak.static_float", "AK804", "x: ak.static_float = 1"),
    ("*, x: ak.f32 = 1", "AK115", "x: ak.f32 = 1"),
    ("**x", "AK115", "x: ak.f32 = 1"),
    ("out: ak.f32 = 1", "AK114", "x: ak.f32 = 1"),
    ("größe: ak.f32 = 1", "AK123", "size: ak.f32 = 1"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), PARAMETERS, ids=[f"{c}: {w}" for w, c, _ in PARAMETERS])
def test_a_parameter_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    assert codes(lower(text_of(f"{OUT}, {wrong}", BODY))) == [code]
    before, after = (right, OUT) if "=" not in right else (OUT, right)
    accepted(text_of(f"{before}, {after}", BODY))


GOOD = text_of(OUT, BODY)
MODULES = [
    ("import numpy as np\n", "AK108", "import agentkern\n"),
    ("from torch import nn\n", "AK108", "from agentkern import f32\n"),
    ("from . import x\n", "AK108", "from agentkern import grid as g, sum\n"),
    ("from agentkern import nothing\n", "AK202", "from agentkern import *\n"),
    ("class A:\n    pass\n", "AK107", "A = 1\n"),
    ("print(1)\n", "AK107", "'text'\n"),
    ("if True:\n    A = 1\n", "AK107", "A = 1 if True else 2\n"),
    ("A = B = 1\n", "AK107", "A, B = 1, 1\n"),
    ("A.b = 1\n", "AK107", "A: int = 1\n"),
    ("A = [1]\n", "AK106", "A = (1, 2.5, True)\n"),
    ("A = 1\nA = 2\n", "AK114", "A = 1\nB = 2\n"),
    ("def kernel():\n    pass\n", "AK114", "def other():\n    pass\n"),
    ("async def f():\n    pass\n", "AK107", "def f():\n    pass\n"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), MODULES, ids=[f"{c}: {w[:30]}" for w, c, _ in MODULES])
def test_a_module_statement_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    head, rest = GOOD.split("\n", 1)
    assert code in codes(lower(f"{head}\n{wrong}{rest}"))
    accepted(f"{head}\n{right}{rest}")


SIZES = [
    ('D = ak.dim("T")', "AK114", 'D = ak.dim("D")'),
    ('D = ak.dim("a b")', "AK215", 'D = ak.dim("a_b")'),
    ("D = ak.dim(3)", "AK215", 'D = ak.dim("D")'),
    ("D = ak.dim()", "AK122", 'D = ak.dim("D")'),
    ('D = ak.dim("D", multiple=8)', "AK122", 'D = ak.dim("D", multiple_of=8)'),
    ('D = ak.dim("D", multiple_of=0)', "AK216", 'D = ak.dim("D", multiple_of=1)'),
    ('D = ak.dim("D", min=-1)', "AK216", 'D = ak.dim("D", min=0)'),
    ('D = ak.dim("D", min=1.5)', "AK216", 'D = ak.dim("D", min=1, max=1)'),
    ('D = ak.dim("D", min="1")', "AK216", 'D = ak.dim("D", min=1, max=None)'),
    ("D = T / 2", "AK506", "D = T // 2"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), SIZES, ids=[f"{c}: {w}" for w, c, _ in SIZES])
def test_a_size_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    assert codes(lower(GOOD.replace("\n\n\n@", f"\n{wrong}\n\n\n@"))) == [code]
    accepted(GOOD.replace("\n\n\n@", f"\n{right}\n\n\n@"))


def test_promises_reach_the_kernel():
    kernel = accepted(GOOD.replace('ak.dim("T")', 'ak.dim("T", multiple_of=8, min=16, max=1024)'))
    assert kernel.sizes == (SizeInfo("T", False, 8, 16, 1024),)


def test_a_static_value_must_keep_its_promises():
    text = GOOD.replace('ak.static("H")', 'ak.static("H", multiple_of=8)')
    accepted(text, {"H": 16})
    assert codes(lower(text, {"H": 12})) == ["AK216"]


def test_static_sizes_become_numbers_and_run_time_sizes_stay():
    text = text_of(f"x: ak.In[ak.f32, T, H, 2 * H], {OUT}", BODY)
    kernel = accepted(text, {"H": 3})
    assert kernel.params[0].type == TensorType(*_f32(), (kernel.params[1].type.shape[0], 3, 6), "in")
    assert [size.name for size in kernel.sizes] == ["T"]
    assert kernel.attrs["statics"] == (("H", 3),)
    assert [size.name for size in accepted(text).sizes] == ["T", "H"]


def _f32():
    from_scalar = accepted(text_of(f"{OUT}, s: ak.f32", BODY)).params[1].type
    assert isinstance(from_scalar, TileType)
    return (from_scalar.dtype,)


def test_scalar_defaults_are_rounded_to_their_dtype():
    kernel = accepted(text_of(f"{OUT}, s: ak.bf16 = 0.1, n: ak.i64 = -5", BODY))
    assert kernel.attrs["defaults"] == (("s", 0.10009765625), ("n", -5))


def test_settings_choose_code_and_are_typed():
    text = text_of(f"{OUT}, k: ak.static_int = 1, f: ak.static_float = 0.5", "for t in ak.grid(T):\n    out[t] = k * f")
    assert _stored(text, {}) == 0.5
    assert _stored(text, {"k": 3}) == 1.5
    assert _stored(text, {"f": 2}) == 2.0
    assert codes(lower(text, {}, {"k": 1.5})) == ["AK804"]
    assert codes(lower(text, {}, {"kk": 1})) == ["AK804"]


def _stored(text: str, settings: dict[str, int | float | bool]) -> object:
    (constant,) = [op for op in accepted(text, {}, settings).body[0].regions[0].ops if op.name == "constant"]
    return constant.attrs["value"]


def test_a_size_that_the_file_does_not_have_is_named():
    (found,) = lower(GOOD, {"HH": 3}).diagnostics
    assert found.code == "AK802"
    assert found.hint == "did you mean `H`?"


@pytest.mark.parametrize("spelling", ["import agentkern\n", "import agentkern as kern\n", "from agentkern import *\n"])
def test_agentkern_may_have_any_name(spelling: str):
    prefix = {"import agentkern\n": "agentkern.", "import agentkern as kern\n": "kern."}.get(spelling, "")
    accepted(GOOD.replace("import agentkern as ak\n", spelling).replace("ak.", prefix))


@pytest.mark.parametrize("name", ["double", "größe", "ak_kernel", "__kernel", "threadIdx"])
def test_a_kernel_name_that_cuda_text_cannot_carry_is_rejected(name: str):
    assert codes(lower(GOOD.replace("def kernel", f"def {name}"))) == ["AK123"]
    accepted(GOOD.replace("def kernel", "def doubled"))


def test_a_parameter_named_like_a_size_hides_it_in_the_body_only():
    accepted(text_of("T: ak.In[ak.f32, T], out: ak.Out[ak.f32, N]", "for n in ak.grid(N):\n    out[n] = T[0]"))
    assert codes(lower(text_of(f"T: ak.In[ak.f32, T], {OUT}", BODY))) == ["AK215"]


def test_variables_may_have_any_name():
    body = "for größe in ak.grid(T):\n    double = ak.full((größe,), 1.0, ak.f32)\n    out[größe] = double"
    kernel = accepted(text_of(OUT, body))
    assert kernel.body[0].regions[0].args[0].type.name == "%gruf6udfe"


def test_one_file_has_several_kernels_and_the_first_is_the_default():
    text = GOOD + GOOD.split("\n\n\n", 1)[1].replace("def kernel", "def second").replace("1.0", "undefined")
    assert lower_source(text, "k.py", None, {}, {}).kernels == ("kernel", "second")
    assert lower_source(text, "k.py", None, {}, {}).kernel is not None
    assert codes(lower_source(text, "k.py", "second", {}, {})) == ["AK201"]
    (found,) = lower_source(text, "k.py", "secnd", {}, {}).diagnostics
    assert (found.code, found.hint) == ("AK113", "did you mean `second`?")


def test_module_values_may_depend_on_open_static_sizes():
    text = GOOD.replace("\n\n\n@", "\nSCALE = 1.0 / H\nPAIR = (H, 2)\n\n\n@").replace("= 1.0\n", "= SCALE * PAIR[0]\n")
    text = text.replace("out[t] = SCALE * PAIR[0]", "out[t] = SCALE * PAIR[0] * ak.full((t,), 1.0, ak.f32)")
    accepted(text)
    accepted(text, {"H": 5})


OPTIONAL = text_of(
    "x: ak.In[ak.f32, T], bias: ak.In[ak.f32, T] | None, out: ak.Out[ak.f32, T], twice: ak.Out[ak.f32, T] | None",
    """
for t in ak.grid(T):
    v = x[t] if bias is None else x[t] + bias[t]
    out[t] = v
    if twice is not None:
        twice[t] = v + v
""",
)


def test_each_combination_of_optional_tensors_is_a_build_of_its_own():
    names = [
        [param.name for param in accepted(OPTIONAL, settings=dict.fromkeys(absent, False)).params]
        for absent in ((), ("bias",), ("twice",), ("bias", "twice"))
    ]
    assert names == [["x", "bias", "out", "twice"], ["x", "out", "twice"], ["x", "bias", "out"], ["x", "out"]]


def test_an_optional_tensor_is_there_or_not():
    assert codes(lower(OPTIONAL, settings={"bias": 3})) == ["AK804"]
    assert codes(lower(OPTIONAL, settings={"x": False})) == ["AK804"]


def test_an_absent_tensor_has_no_elements():
    assert codes(lower(OPTIONAL.replace("if bias is None else x[t] + bias[t]", "+ bias[t]"), settings={"bias": False}))
