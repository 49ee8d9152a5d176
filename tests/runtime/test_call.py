"""A decorated kernel is called like a function, on tensors of any library; wrong calls say what is wrong."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import agentkern as ak
from agentkern.runtime import kernel_function
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.kernel_function import KernelError
from tests.runtime.called_kernels import (
    accumulate,
    checked,
    gathered,
    masked,
    past_the_edge,
    power,
    scale_rows,
    shares_of_rows,
    widen,
)

pytestmark = pytest.mark.toolchain


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def test_torch_tensors_on_the_host_run_and_the_output_is_returned():
    x = torch.arange(15, dtype=torch.float32).reshape(3, 5)
    out = scale_rows(x, 2.0)
    assert isinstance(out, torch.Tensor)
    assert torch.equal(out, x * 2)


def test_a_given_output_is_written_and_nothing_returned():
    x, out = torch.ones(3, 5), torch.zeros(3, 5)
    assert scale_rows(x, 2.0, out, bias=1.0) is None
    assert torch.equal(out, torch.full((3, 5), 3.0))


@pytest.mark.parametrize("rows", [0, 1, 37])
def test_every_number_of_rows_runs(rows: int):
    x = np.arange(rows * 7, dtype=np.float32).reshape(rows, 7)
    assert np.array_equal(scale_rows(x, 3.0), x * 3)


def test_several_outputs_come_as_a_tuple_with_the_callers_types():
    x = torch.tensor([-1.5, 0.0, 2.0], dtype=torch.bfloat16)
    wide, negative = widen(x)
    assert torch.equal(wide, x.float())
    assert negative.dtype is torch.bool
    assert negative.tolist() == [True, False, False]


def test_strided_tensors_run_in_place_without_a_copy():
    whole = torch.zeros(4, 20)
    x, out = torch.ones(4, 10)[:, ::2], whole[:, 3:18:3]
    scale_rows(x, 5.0, out)
    assert torch.equal(out, torch.full((4, 5), 5.0))
    assert whole.sum() == 100


def test_tensors_of_any_library_with_dlpack_run():
    class Foreign:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

        def __dlpack__(self, **arguments: object) -> object:
            return self.tensor.__dlpack__(**arguments)

        def __dlpack_device__(self) -> object:
            return self.tensor.__dlpack_device__()

    out = torch.zeros(3, 5)
    scale_rows(Foreign(torch.ones(3, 5)), 4.0, Foreign(out))
    assert torch.equal(out, torch.full((3, 5), 4.0))


def test_compile_time_values_are_arguments_like_others_and_have_builds_of_their_own():
    x = np.array([3.0], np.float32)
    assert power(x) == [3.0]
    assert power(x, squared=True) == [9.0]
    assert power(x, None, True) == [9.0]
    assert power(x, squared=False) == [3.0]


def test_calls_of_one_class_compile_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []
    compile_program = kernel_function.compile_program
    monkeypatch.setattr(
        kernel_function, "compile_program", lambda *a, **k: asked.append(a[0]) or compile_program(*a, **k)
    )
    function = ak.compile(scale_rows)
    for rows in (1, 2, 3):
        function(np.ones((rows, 64), np.float32), 1.0)
    once = len(asked)
    assert once == 2  # the program, and its build for these tensors
    function(np.ones((3, 32), np.float32), 1.0)
    assert len(asked) > once


def test_threads_call_one_kernel_together():
    x = [np.full((3, 24), n, np.float32) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda a: scale_rows(a, 2.0), x))
    assert all(np.array_equal(got, 2 * want) for got, want in zip(results, x, strict=True))


def test_compile_fixes_sizes_and_values():
    x = np.full((2, 8), 3.0, np.float32)
    function = ak.compile(scale_rows, H=8)
    assert np.array_equal(function(x, 2.0), 2 * x)
    with pytest.raises(CallError, match=r"AK70[58].*`x`|AK70[58].*`H`"):
        function(x[:, :4].copy(), 2.0)
    assert np.array_equal(ak.compile(power, squared=True)(np.array([3.0], np.float32)), [9.0])


def test_compile_takes_a_schedule_from_its_json():
    schedule = {"version": 1, "grids": [{"tile": [2], "warps": 2, "fast_warps": 1, "vector": 1, "chunk": 0}]}
    x = np.ones((5, 8), np.float32)
    assert np.array_equal(ak.compile(scale_rows, schedule=schedule, H=8)(x, 2.0), 2 * x)


@pytest.mark.parametrize(
    ("arguments", "named", "code"),
    [
        ((torch.ones(3, 5),), {}, "AK706"),
        ((torch.ones(3, 5), 1.0, None, 0.0, 4), {}, "AK706"),
        ((torch.ones(3, 5), 1.0), {"bais": 1.0}, "AK706"),
        ((torch.ones(3, 5, dtype=torch.float64), 1.0), {}, "AK702"),
        ((torch.ones(3), 1.0), {}, "AK703"),
        ((torch.ones(3, 5), 1.0, torch.ones(3, 6)), {}, "AK705"),
        ((torch.ones(3, 5), "1"), {}, "AK707"),
        (([[1.0]], 1.0), {}, "AK702"),
        ((torch.ones(3, 5, device="meta"), 1.0), {}, "AK701"),
    ],
)
def test_a_wrong_call_names_what_is_wrong(arguments: tuple[object, ...], named: dict[str, object], code: str):
    with pytest.raises(CallError) as found:
        scale_rows(*arguments, **named)
    assert found.value.code == code


@pytest.mark.parametrize(
    ("arguments", "named", "code"),
    [
        ((np.ones(1, np.float32), None, True), {"squared": True}, "AK706"),
        ((np.ones(1, np.float32), None, "yes"), {}, "AK707"),
    ],
)
def test_a_wrong_compile_time_value_names_it(arguments: tuple[object, ...], named: dict[str, object], code: str):
    with pytest.raises(CallError, match="squared") as found:
        power(*arguments, **named)
    assert found.value.code == code


def test_a_wrong_kernel_shows_its_diagnostics_at_the_call_and_at_compile():
    with pytest.raises(KernelError, match="missing") as found:
        past_the_edge(np.ones(3, np.float32))
    assert [d.code for d in found.value.diagnostics] == ["AK201"]
    with pytest.raises(KernelError, match="AK201"):
        ak.compile(past_the_edge)


def test_compile_refuses_names_that_the_kernel_has_not():
    with pytest.raises(CallError, match=r"`G`.*H=\.\.\."):
        ak.compile(scale_rows, G=4)


def test_a_kernel_whose_file_is_gone_says_so(tmp_path: Path):
    path = tmp_path / "gone.py"
    path.write_text("import agentkern as ak\n\n@ak.kernel\ndef k(x: ak.In[ak.f32, 1]):\n    pass\n", encoding="utf-8")
    names: dict[str, object] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    path.unlink()
    kernel = names["k"]
    assert isinstance(kernel, ak.Kernel)
    with pytest.raises(KernelError, match="AK801"):
        kernel(np.ones(1, np.float32))


def test_importing_kernels_loads_no_compiler():
    code = (
        "import sys, tests.runtime.called_kernels\n"
        "print([m for m in ('torch', 'numpy', 'z3', 'agentkern.compiler', 'agentkern.runtime') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_broken_promise_is_the_callers_and_names_the_value():
    rows, x = np.array([0, 2, 1], np.int32), np.arange(3, dtype=np.float32)
    assert gathered(rows, x).tolist() == [0, 2, 1]
    with pytest.raises(CallError, match="AK715: `rows` breaks a promise of the kernel: value 3 at 1 is not in 0 to 2"):
        gathered(np.array([0, 3, 1], np.int32), x)


def test_a_condition_that_does_not_hold_is_shown_where_the_kernel_requires_it():
    rows, x = np.array([0, 2, 1], np.int32), np.arange(3, dtype=np.float32)
    assert checked(rows, x).tolist() == [0, 2, 1]
    with pytest.raises(KernelError, match="AK716") as stopped:
        checked(rows + 1, x)
    assert 'ak.require((row >= 0) & (row < H), "every row is one of x")' in str(stopped.value)


@pytest.mark.gpu
def test_tensors_on_a_gpu_run_there():
    x = torch.randn(37, 100, device="cuda")
    out = scale_rows(x, 2.0)
    assert out.is_cuda
    assert torch.equal(out, x * 2)
    assert torch.equal(scale_rows(x[:, ::2], 2.0), x[:, ::2] * 2)


def test_scratch_between_grids_is_allocated_for_each_call():
    x = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(shares_of_rows, [x * 2.0**n for n in range(8)]))
    assert all(np.array_equal(found, x / x.sum(axis=1, keepdims=True)) for found in results)
    assert torch.equal(shares_of_rows(torch.from_numpy(x)), torch.from_numpy(results[0]))


def test_inout_tensors_are_changed_where_they_lie_and_not_returned():
    total, x = torch.ones(7), torch.arange(7, dtype=torch.float32)
    assert accumulate(total, x) is None
    assert torch.equal(total, x + 1)
    with pytest.raises(CallError, match="AK706"):
        accumulate(x=x)
    with pytest.raises(CallError, match="AK709"):
        accumulate(total, total)


def test_optional_tensors_may_be_left_out_or_none():
    x, mask = np.arange(4, dtype=np.float32), np.array([True, False, True, True])
    total = np.zeros(1, np.float32)
    assert masked(x, mask).tolist() == [0, 0, 2, 3]
    assert masked(x, None).tolist() == masked(x).tolist() == [0, 1, 2, 3]
    assert masked(x, mask, total=total).tolist() == [0, 0, 2, 3]
    assert total.tolist() == [5]
    assert masked(x=x, mask=mask, total=None).tolist() == [0, 0, 2, 3]
