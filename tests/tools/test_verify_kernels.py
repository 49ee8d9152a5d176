"""Verify on kernel text, through the compiler and the CPU simulator."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, CompileResult
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.schedule import Schedule
from agentkern.diagnostics import Span, error
from agentkern.runtime.cache import Cache
from agentkern.runtime.driver import NoDriver, driver
from agentkern.tools import verify_program
from agentkern.tools.sources import UsageError
from agentkern.tools.verify import VerifyRequest, verify
from agentkern.tools.verify_model import RunOptions, Sizes
from agentkern.tools.verify_program import CompiledProgram, program_of
from agentkern.tools.verify_run import VerifyOptions, make_subject, run_checks
from agentkern.tools.verify_simulator import SimulatorExecutor

KERNEL = """import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def scaled(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H], factor: ak.f32 = 0.5):
    for t in ak.grid(T):
        row = x[t, :]
        out[t, :] = row * factor + ak.sum(row, axis=1, keepdims=True)
"""


def request_of(**changes: object) -> VerifyRequest:
    return VerifyRequest(**{"source": KERNEL, "dims": {"H": 40}, **changes})


@pytest.mark.toolchain
def test_a_kernel_text_is_bit_exact_on_the_simulator() -> None:
    result = verify(request_of())
    assert (result.verdict, result.status) == ("bit_exact", "ok")
    assert result.kernel_id is not None


@pytest.mark.toolchain
def test_rows_of_run_time_length_are_bit_exact_whatever_their_alignment() -> None:
    text = KERNEL.replace('ak.static("H")', 'ak.dim("H")')
    result = verify(request_of(source=text, dims={}))
    assert result.verdict == "bit_exact", result.summary


@pytest.mark.toolchain
def test_a_reference_kernel_that_computes_something_else_is_contradicted() -> None:
    same = verify(request_of(reference_kernel=KERNEL.replace("row * factor", "factor * row")))
    other = verify(request_of(reference_kernel=KERNEL.replace("* factor", "/ factor")))
    assert same.verdict == "bit_exact"
    assert other.verdict == "wrong"
    assert next(c.status for c in other.checks if c.name == "reference") == "failed"


def test_a_kernel_is_no_reference_of_its_own() -> None:
    with pytest.raises(UsageError, match="own text") as raised:
        verify(request_of(reference_kernel=KERNEL + "\n"))
    assert raised.value.diagnostic.code == "AK811"


@dataclass(frozen=True)
class Miscompiled:
    """A program whose CUDA text is changed after compilation."""

    right: CompiledProgram
    pattern: str
    instead: str

    def tile(self, sizes: Sizes) -> Kernel:
        return self.right.tile(sizes)

    def schedules(self, sizes: Sizes, count: int) -> tuple[Schedule | None, ...]:
        return self.right.schedules(sizes, count)

    def compiled(self, sizes: Sizes, options: RunOptions) -> CompileResult:
        result = self.right.compiled(sizes, options)
        wrong = re.sub(self.pattern, self.instead, result.cuda)
        assert sizes["H"] != 40 or options.strided or options.shared or wrong != result.cuda
        return replace(result, texts={**result.texts, "cuda": wrong})


MUTANTS = {
    "another operation": (r"__fmul_rn\(row", "__fadd_rn(row", "integers"),
    "a default baked in": (r"factor\);", "0.5f);", "interpreter"),
    "store guard one too wide": (r"< 40\);(?=\s*if \(v\w*\) \{\s*ak_st)", "< 41);", "memory"),
    "guard one too narrow": (r"\)\) < 40\);", ")) < 36);", "writes"),
    "another order of the sum": (r"(__shfl_xor_sync\(0xffffffffu, \w+, )2\)", r"\g<1>4)", "interpreter"),
}


@pytest.mark.toolchain
@pytest.mark.parametrize(("pattern", "instead", "check"), MUTANTS.values(), ids=MUTANTS.keys())
def test_a_miscompiled_text_is_found_by_the_check_that_looks_for_it(
    pattern: str, instead: str, check: str, simulator_cache: Path
) -> None:
    right = program_of(CompileRequest(KERNEL, "kernel.py"))
    assert isinstance(right, CompiledProgram)
    program = Miscompiled(right, pattern, instead)
    executor = SimulatorExecutor(program, simulator_cache)
    options = VerifyOptions({"H": 40})
    result = run_checks(make_subject(program, executor, executor, right.sizes, options), options)
    assert result.verdict == "wrong"
    assert next(c.status for c in result.checks if c.name == check) == "failed"


@pytest.mark.toolchain
def test_a_chosen_schedule_is_the_one_that_is_verified() -> None:
    right = program_of(CompileRequest(KERNEL, "kernel.py"))
    assert isinstance(right, CompiledProgram)
    chosen = right.schedules({"H": 40}, 3)[2]
    assert chosen is not None
    program = CompiledProgram(replace(right.request, schedule=chosen), right.sizes)
    sizes = {"H": 40, "T": 3}
    assert program.compiled(sizes, RunOptions()).schedule == chosen
    assert right.compiled(sizes, RunOptions()).schedule != chosen
    assert verify(request_of(schedule=chosen.to_json())).verdict == "bit_exact"


def test_a_schedule_without_room_for_it_is_none_of_those_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    right = program_of(CompileRequest(KERNEL, "kernel.py"))
    assert isinstance(right, CompiledProgram)
    sizes = {"H": 40, "T": 3}
    default, second, third, fourth = right.schedules(sizes, 4)
    compiling = verify_program.compile_program

    def compile_all_but_one(request: CompileRequest, cache: Cache) -> CompileResult:
        result = compiling(request, cache)
        if request.schedule != second:
            return result
        full = error("AK611", Span("kernel.py"), needed=1 << 20, target="sm_90a", limit=1 << 17)
        return replace(result, status="failed", diagnostics=(full,))

    monkeypatch.setattr(verify_program, "compile_program", compile_all_but_one)
    again = program_of(CompileRequest(KERNEL, "kernel.py"))
    assert isinstance(again, CompiledProgram)
    assert again.schedules(sizes, 3) == (default, third, fourth)


IMPOSSIBLE = """\
import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def k(rows: ak.In[ak.i32, T].values(0, H).distinct(), x: ak.In[ak.f32, H], out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        out[t] = x[rows[t]]
"""


@pytest.mark.toolchain
def test_sizes_of_which_no_inputs_keep_the_promises_are_left_out_or_refused() -> None:
    request = VerifyRequest(source=IMPOSSIBLE, path="kernel.py", dims={"H": 9, "T": 7}, level="full")
    assert verify(request).verdict == "bit_exact"
    refused = verify(request.model_copy(update={"dims": {"H": 5, "T": 7}}))
    assert [d.code for d in refused.diagnostics] == ["AK715"]


def test_unknown_sizes_and_criteria_are_wrong_usage() -> None:
    with pytest.raises(UsageError, match="K"):
        verify(request_of(dims={"H": 40, "K": 3}))
    with pytest.raises(UsageError, match="criterion"):
        verify(request_of(criterion="nearly"))
    with pytest.raises(UsageError, match="reference"):
        verify(request_of(reference="nowhere.py"))


def test_a_static_size_without_a_number_and_a_wrong_kernel_get_no_verdict() -> None:
    missing = verify(request_of(dims={}))
    assert [d.code for d in missing.diagnostics] == ["AK803"]
    wrong = verify(request_of(source=KERNEL.replace("axis=1", "axis=5")))
    assert (wrong.verdict, wrong.status) == ("not_run", "rejected")
    assert {c.status for c in wrong.checks} == {"not_run"}


def test_a_gpu_that_is_not_there_is_unavailable_and_nothing_counts_as_run() -> None:
    if gpu_is_there():
        pytest.skip("this machine has a GPU")
    result = verify(request_of(device="cuda"))
    assert (result.verdict, result.status) == ("not_run", "unavailable")
    assert [d.code for d in result.diagnostics] == ["AK806"]


@pytest.mark.gpu
def test_a_kernel_text_is_bit_exact_on_the_gpu() -> None:
    assert verify(request_of(device="cuda")).verdict == "bit_exact"


def gpu_is_there() -> bool:
    try:
        return driver().device_count > 0
    except NoDriver:
        return False


FINITE = """import agentkern as ak

T, H = ak.dim("T"), ak.static("H")


@ak.kernel
def ratio(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        row = x[t, :]
        ak.require(ak.abs(row) < ak.inf, "finite numbers only")
        out[t, :] = row * 0.5
"""


@pytest.mark.toolchain
def test_inputs_that_a_kernel_requires_away_are_not_its_fault() -> None:
    result = verify(request_of(source=FINITE, dims={"H": 9}))
    assert result.verdict == "bit_exact"
    special = next(check for check in result.checks if check.name == "special")
    assert special.status in ("passed", "not_applicable")
