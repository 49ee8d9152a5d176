"""What kernel files import is plain, light Python, and is exactly what the front end reads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentkern as ak
from agentkern.compiler.frontend.expressions import NUMBERS, STRUCTURE
from agentkern.compiler.frontend.guarded import ACCESSES
from agentkern.compiler.frontend.later import FOREIGN, LATER
from agentkern.compiler.frontend.operations import OPERATIONS
from agentkern.dsl.dtypes import DTYPES

H, T = ak.static("H"), ak.dim("T", multiple_of=8)


@ak.kernel
def double(x: ak.In[ak.f32, T, 2 * H + 1], out: ak.Out[ak.f32, ak.cdiv(T, 4), ak.align(H, 8) // 2 % 3 - 1]):
    """Twice the input."""
    raise AssertionError("kernels are not executed")


def test_public_names_are_those_that_the_front_end_knows():
    assert sorted(ak.__all__) == sorted({*OPERATIONS, *ACCESSES, *DTYPES, *NUMBERS, *STRUCTURE})


def test_names_of_later_versions_and_of_other_libraries_are_not_public():
    assert not {*LATER, *FOREIGN} & set(ak.__all__)


def test_a_kernel_records_its_source_and_does_not_run():
    assert double.name == "double"
    assert double.__doc__ == "Twice the input."
    assert double.path == __file__
    assert "def double(x: ak.In[ak.f32, T, 2 * H + 1]" in double.source


@pytest.mark.parametrize(
    "name", sorted({*OPERATIONS} - {"dim", "static", "cdiv", "align"} | {"grid", "each", "steps", "elements"})
)
def test_operations_explain_that_python_cannot_run_them(name: str):
    with pytest.raises(TypeError, match=rf"`ak\.{name}` stands in kernels"):
        getattr(ak, name)(*(None,) * OPERATIONS[name].form.required if name in OPERATIONS else (None,))


def test_sizes_are_written_as_they_are_read():
    assert str(2 * H + 1) == "((2) * (H)) + (1)"
    assert str(ak.cdiv(T, 4)) == "cdiv(T, 4)"
    assert (T.multiple_of, H.static, T.static) == (8, True, False)


def test_the_language_imports_nothing_heavy():
    code = (
        "import agentkern, sys; print(*(m for m in ('torch', 'numpy', 'z3', 'agentkern.compiler') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_the_front_end_imports_nothing_heavy():
    code = "import agentkern.compiler.frontend, sys; print(*(m for m in ('torch', 'numpy', 'z3') if m in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


@ak.kernel(nondeterministic=True)
def scattered(x: ak.In[ak.f32, T], i: ak.In[ak.i32, T].values(0, H), out: ak.InOut[ak.f32, H]):
    """Sums in any order."""
    raise AssertionError("kernels are not executed")


def test_a_kernel_with_an_argument_records_its_source_too():
    assert (scattered.name, scattered.nondeterministic, double.nondeterministic) == ("scattered", True, False)
    assert scattered.__doc__ == "Sums in any order."
    assert "def scattered(" in scattered.source
