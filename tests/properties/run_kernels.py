"""Run random kernels through the interpreter and the simulator, in batches, and compare every bit.

The CUDA texts of a batch become one translation unit: their preludes hold equal functions under equal names.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agentkern.compiler.driver import ARCHITECTURES, CompileRequest, CompileResult, compile_kernel, schedules
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.interpreter import RequirementError, interpret
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import (
    FindingKind,
    LaunchError,
    SimulatorBuildError,
    SimulatorModule,
    SimulatorOptions,
    ThreadOrder,
    build,
)
from tests.properties.inputs import arrays, strided
from tests.properties.programs import Program

OUR_BUGS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)
_KERNELS = re.compile(r'^extern "C" __global__', re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """What became of a program: equal, different, finding (of the simulator), unsupported, rejected or crash."""

    program: Program
    outcome: str
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong: the bits agree, or the compiler said that it cannot do it yet."""
        return self.outcome in ("equal", "unsupported")


@dataclass(frozen=True)
class Compiled:
    """A program with its compilation."""

    program: Program
    result: CompileResult


def compile_program(
    program: Program, *, other_schedule: bool = True, target: str | None = None, gaps: bool = True
) -> Compiled | Verdict:
    """Compile for a target and with a schedule that the seed picks among the legal ones."""
    target = target or tuple(ARCHITECTURES)[program.seed // 7 % len(ARCHITECTURES)]
    request = CompileRequest(
        program.text(), "kernel.py", target=target, dims=program.numbers(), settings=program.settings
    )
    result = compile_kernel(request)
    if result.status == "ok" and result.kernel is not None:
        request = replace(
            request,
            variant=fitting_variant(result.kernel, program.sizes, strided(result.kernel, program) if gaps else ()),
        )
        found = schedules(result.kernel, request.variant, 6)
        picked = found[program.seed % len(found)] if other_schedule else found[0]
        result = compile_kernel(replace(request, schedule=picked))
    if result.status != "ok":
        said = "; ".join(f"{d.code} {d.message}" for d in result.diagnostics if d.severity == "error")
        return Verdict(program, "unsupported" if result.status == "unsupported" else "rejected", said)
    return Compiled(program, result)


def joined_texts(texts: Sequence[str]) -> str:
    """One translation unit of several: each prelude function once, in the order of its first use."""
    prelude: dict[str, None] = {}
    kernels: list[str] = []
    for text in texts:
        at = _KERNELS.search(text)
        assert at is not None
        prelude.update(dict.fromkeys(piece.strip() for piece in text[: at.start()].split("\n\n")))
        kernels.append(text[at.start() :])
    return "\n\n".join([*prelude, *kernels])


def run_batch(programs: Sequence[Program], cache: Path, *, other_schedule: bool = True) -> list[Verdict]:
    """Verdicts of programs, in order."""
    found: dict[int, Verdict] = {}
    ready: list[tuple[int, Compiled]] = []
    for position, program in enumerate(programs):
        try:
            made = compile_program(program, other_schedule=other_schedule)
        except OUR_BUGS as bug:
            made = Verdict(program, "crash", _place(bug))
        if isinstance(made, Verdict):
            found[position] = made
        else:
            ready.append((position, made))
    found |= _run_together(ready, cache)
    return [found[position] for position in range(len(programs))]


def run_compiled(made: Compiled, cache: Path) -> Verdict:
    """The verdict of one compiled program."""
    return _run_together([(0, made)], cache)[0]


def _run_together(ready: Sequence[tuple[int, Compiled]], cache: Path) -> dict[int, Verdict]:
    """Build and run as one; where the text does not build, in halves."""
    if not ready:
        return {}
    try:
        module = build(joined_texts([made.result.cuda for _, made in ready]), cache)
    except SimulatorBuildError as bug:
        if len(ready) == 1:
            return {ready[0][0]: Verdict(ready[0][1].program, "crash", f"the text does not build: {bug.log.strip()}")}
        half = len(ready) // 2
        return _run_together(ready[:half], cache) | _run_together(ready[half:], cache)
    return {position: _compare(made, module) for position, made in ready}


def _place(bug: Exception) -> str:
    """The exception with the innermost place that it came from."""
    frame = traceback.extract_tb(bug.__traceback__)[-1]
    return f"{type(bug).__name__} in {Path(frame.filename).name}, `{frame.name}`: {bug}"


def ends(kernel: Kernel, program: Program, tensors: dict[str, np.ndarray], *, free_block: int | None = None) -> bool:
    """Interpret a program's kernel of any stage above the threads; whether no requirement stopped it."""
    try:
        interpret(kernel, tensors, program.sizes, program.scalar_values(), free_block=free_block)
    except RequirementError:
        return False
    return True


def _compare(made: Compiled, module: SimulatorModule) -> Verdict:
    program, result = made.program, made.result
    kernel, abi = result.kernel, result.abi
    assert kernel is not None
    assert abi is not None
    expected, got = arrays(kernel, program), arrays(kernel, program)
    ended = ends(kernel, program, expected)
    orders = (ThreadOrder.FORWARD, *ThreadOrder)
    options = SimulatorOptions(thread_order=orders[program.seed % len(orders)], seed=program.seed, time_limit_s=600.0)
    try:
        reports = simulate(abi, module, got, program.sizes, program.scalar_values(), options)
    except LaunchError as bug:
        return Verdict(program, "crash", f"the launch is refused: {bug}")
    if not ended:
        kinds = {finding.kind for report in reports for finding in report.findings}
        if kinds == {FindingKind.TRAP}:
            return Verdict(program, "equal")
        return Verdict(program, "finding", f"a requirement does not hold, and the simulator found {kinds or 'nothing'}")
    for report in reports:
        if not report.clean:
            return Verdict(program, "finding", str(report.findings[0] if report.findings else report))
    difference = first_difference(expected, got)
    return Verdict(program, "equal") if difference is None else Verdict(program, "different", difference)


def first_difference(expected: Mapping[str, np.ndarray], got: Mapping[str, np.ndarray]) -> str | None:
    """The first tensor and place where two runs differ in a bit, in words."""
    for name, want in expected.items():
        have = got[name]
        if not want.size:
            continue
        raw_want = np.ascontiguousarray(want).view(np.uint8).reshape(*want.shape, -1)
        raw_have = np.ascontiguousarray(have).view(np.uint8).reshape(*have.shape, -1)
        wrong = (raw_want != raw_have).any(axis=-1)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            both = f"interpreter {raw_want[at][::-1].tobytes().hex()}, simulator {raw_have[at][::-1].tobytes().hex()}"
            return f"`{name}` {want.dtype} at {list(at)}: {both} ({int(wrong.sum())} of {wrong.size})"
    return None
