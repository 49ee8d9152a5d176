"""Random kernels: the simulator runs the generated text to the interpreter's bits, without a finding."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.runtime.simulator import SimulatorUnavailableError, host_compiler
from tests.properties.grammar.kernels import random_program
from tests.properties.kept_kernels import KEPT
from tests.properties.programs import Program, kernel_of
from tests.properties.reduce_kernels import reduced
from tests.properties.run_kernels import Compiled, Verdict, compile_program, run_batch, run_compiled

FEW = tuple(range(7000, 7020))


def _has_compiler() -> bool:
    try:
        host_compiler()
    except SimulatorUnavailableError:
        return False
    return True


pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(not _has_compiler(), reason="the simulator needs a C++ compiler"),
]


def _check(programs: Sequence[Program], simulator_cache: Path) -> list[Verdict]:
    verdicts = run_batch(programs, simulator_cache)
    wrong = [f"seed {v.program.seed}: {v.outcome} {v.detail}\n{v.program.text()}" for v in verdicts if not v.holds]
    assert not wrong, "\n".join(wrong)
    return verdicts


def test_random_kernels_have_the_interpreters_bits(simulator_cache: Path) -> None:
    verdicts = _check([random_program(seed) for seed in FEW], simulator_cache)
    assert sum(v.outcome == "equal" for v in verdicts) > len(FEW) // 2


def test_random_kernels_of_long_values_have_the_interpreters_bits(simulator_cache: Path) -> None:
    _check([random_program(seed, long=True) for seed in range(1000, 1016)], simulator_cache)


def test_kernels_that_once_failed_hold(simulator_cache: Path) -> None:
    _check(KEPT, simulator_cache)


ADDITION = Program(
    "control",
    """
def control(x: ak.In[ak.f32, T, H], y: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        y[t, :] = x[t, :] + x[t, :]
""",
    {"T": 5, "H": 33},
)


@pytest.mark.parametrize(
    ("spelled", "instead", "outcome"),
    [
        ("__fadd_rn(", "__fadd_rn(", "equal"),
        ("__fadd_rn(", "__fmul_rn(", "different"),
        ("* 33", "* 34", "finding"),
        ("__fadd_rn(", "__no_such_name(", "crash"),
    ],
)
def test_changed_text_is_noticed(spelled: str, instead: str, outcome: str, simulator_cache: Path) -> None:
    made = compile_program(ADDITION, other_schedule=False)
    assert isinstance(made, Compiled)
    assert spelled in made.result.cuda
    texts = {**made.result.texts, "cuda": made.result.cuda.replace(spelled, instead)}
    assert run_compiled(replace(made, result=replace(made.result, texts=texts)), simulator_cache).outcome == outcome


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 22_000, 256))
def test_many_random_kernels_have_the_interpreters_bits(first: int, simulator_cache: Path) -> None:
    for start in range(first, first + 256, 32):
        _check([random_program(seed) for seed in range(start, start + 32)], simulator_cache)


def test_program_of_a_seed_is_always_the_same() -> None:
    assert [random_program(seed) for seed in range(50)] == [random_program(seed) for seed in range(50)]


def _statements(program: Program) -> int:
    return sum(isinstance(node, ast.Assign) for node in ast.walk(kernel_of(program)))


def test_failing_program_is_cut_down_to_what_fails() -> None:
    def fails(program: Program) -> bool:
        return "ak.sum" in program.text() and program.sizes.get("H", 0) > 2

    program = next(p for p in map(random_program, range(1000)) if fails(p) and _statements(p) > 8)
    small = reduced(program, fails)
    assert fails(small)
    assert _statements(small) <= 3
    assert small.sizes["H"] == 3
