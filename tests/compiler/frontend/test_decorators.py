"""`@ak.kernel` and its one argument: what is read, what is refused, and with which fix."""

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.diagnostics import apply_fix

KERNEL = """\
import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")
YES, COUNT = True, 1


{decorator}
def k(x: ak.In[ak.{dtype}, T], i: ak.In[ak.i32, T].values(0, N), o: ak.InOut[ak.{dtype}, N]):
    for t in ak.grid(T):
        ak.atomic_{kind}(o[i[t]], x[t])
"""


def lowered(decorator: str, kind: str = "add", dtype: str = "f32"):
    return lower_source(KERNEL.format(decorator=decorator, kind=kind, dtype=dtype), "kernel.py")


@pytest.mark.parametrize("given", ["True", "YES", "not False"])
def test_a_kernel_may_say_that_its_bits_differ(given: str):
    found = lowered(f"@ak.kernel(nondeterministic={given})")
    assert found.diagnostics == ()
    assert found.kernel is not None
    assert is_nondeterministic(found.kernel)


def test_false_is_as_if_it_were_left_out():
    found = lowered("@ak.kernel(nondeterministic=False)", "max")
    assert found.diagnostics == ()
    assert found.kernel is not None
    assert not is_nondeterministic(found.kernel)
    assert [d.code for d in lowered("@ak.kernel(nondeterministic=False)").diagnostics] == ["AK320"]


@pytest.mark.parametrize(
    ("decorator", "code"),
    [
        ("@ak.kernel()", "AK118"),
        ("@ak.kernel(nondeterministic=1)", "AK218"),
        ("@ak.kernel(nondeterministic=COUNT)", "AK218"),
        ("@ak.kernel(nondeterministic='yes')", "AK218"),
        ("@ak.kernel(nondeterministic=None)", "AK218"),
        ("@ak.kernel(nondeterministic=N)", "AK218"),
        ("@ak.kernel(nondeterministic=unknown)", "AK201"),
        ("@ak.kernel(True)", "AK601"),
        ("@ak.kernel(num_warps=4)", "AK601"),
        ("@ak.kernel(nondeterministic=True, num_warps=4)", "AK601"),
        ("@ak.kernel(**{})", "AK601"),
        ("@ak.kernel(*[True])", "AK601"),
        ("@ak.inline(nondeterministic=True)", "AK118"),
        ("@ak.jit(nondeterministic=True)", "AK202"),
    ],
)
def test_other_arguments_are_refused(decorator: str, code: str):
    found = {d.code for d in lowered(decorator, "max").diagnostics}
    assert code in found
    assert not found & {"AK901"}


def test_a_misspelt_argument_names_the_right_one():
    found = lowered("@ak.kernel(non_deterministic=True)", "max").diagnostics
    assert [(d.code, d.hint) for d in found] == [("AK601", "did you mean `nondeterministic`?")]


@pytest.mark.parametrize("decorator", ["@ak.kernel", "@ak.kernel(nondeterministic=False)"])
def test_the_fix_of_a_refused_sum_lets_the_bits_differ(decorator: str):
    found = lowered(decorator)
    assert [d.code for d in found.diagnostics] == ["AK320"]
    (fix,) = found.diagnostics[0].fixes
    text = KERNEL.format(decorator=decorator, kind="add", dtype="f32")
    fixed = lower_source(apply_fix(text, fix), "kernel.py")
    assert fixed.diagnostics == ()
    assert fixed.kernel is not None
    assert is_nondeterministic(fixed.kernel)


@pytest.mark.parametrize(("kind", "dtype"), [("max", "f32"), ("min", "bf16"), ("add", "i32"), ("max", "u64")])
def test_where_nothing_depends_on_order_the_argument_is_noted(kind: str, dtype: str):
    found = lowered("@ak.kernel(nondeterministic=True)", kind, dtype)
    assert [(d.code, d.severity) for d in found.diagnostics] == [("AK431", "note")]
    (fix,) = found.diagnostics[0].fixes
    text = KERNEL.format(decorator="@ak.kernel(nondeterministic=True)", kind=kind, dtype=dtype)
    assert lower_source(apply_fix(text, fix), "kernel.py").diagnostics == ()


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2", "i8", "i16", "u8", "u16", "bool"])
@pytest.mark.parametrize("kind", ["add", "max"])
def test_what_the_hardware_lacks_is_refused_whatever_the_kernel_says(kind: str, dtype: str):
    (found,) = lowered("@ak.kernel(nondeterministic=True)", kind, dtype).diagnostics
    assert found.code == "AK320"
    assert "the hardware has it for" in found.message
    assert found.fixes == ()


def test_each_kernel_of_a_file_speaks_for_itself():
    text = KERNEL.format(decorator="@ak.kernel(nondeterministic=True)", kind="add", dtype="f32")
    second = KERNEL.format(decorator="@ak.kernel", kind="max", dtype="f32").split("\n\n\n")[1].replace("def k", "def m")
    for name, word in (("k", True), ("m", False)):
        kernel = lower_source(f"{text}\n\n{second}", "kernel.py", name).kernel
        assert kernel is not None
        assert is_nondeterministic(kernel) == word


def test_a_helper_may_hold_the_sum_of_a_kernel_that_says_so():
    text = KERNEL.format(decorator="@ak.kernel(nondeterministic=True)", kind="max", dtype="f32")
    helper = "@ak.inline\ndef put(o, i, v):\n    ak.atomic_add(o[i], v)\n    return v\n\n\n"
    head, body = text.split("\n\n\n")
    text = f"{head}\n\n\n{helper}{body}".replace("ak.atomic_max(o[i[t]], x[t])", "put(o, i[t], x[t])")
    found = lower_source(text, "kernel.py")
    assert {d.code for d in found.diagnostics} <= {"AK119"}
