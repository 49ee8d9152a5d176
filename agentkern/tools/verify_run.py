"""Verify a kernel: run every check by name, then say what the answers add up to.

`bit_exact` and `within_bound` are only said when every applicable check passed and every negative control was rejected;
nothing that was not run counts as passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agentkern.compiler.ir.core import SizeInfo, walk
from agentkern.compiler.ir.interpreter import InterpreterError
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.tools.counted import counted
from agentkern.tools.memory_needs import check_tensors, check_values
from agentkern.tools.nondeterminism import WHY, WORDS
from agentkern.tools.results import CheckRecord, Control, Mismatch, Status, Verdict, VerifyResult, diagnostic_record
from agentkern.tools.verify_cases import MOST_ELEMS, check_promises, plan_sizes
from agentkern.tools.verify_checks import CHECKS
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_model import BuildError, ExecutionError, Executor, Program, Scalars, Sizes, signature_of
from agentkern.tools.verify_reference import (
    Answers,
    Reference,
    check_reference,
    start_reference,
)
from agentkern.tools.verify_subject import Level, Oracle, Outcome, Subject, failed, not_applicable, not_run

NAMES = (
    "writes",
    "memory",
    "deterministic",
    "integers",
    "interpreter",
    "schedules",
    "batch",
    "reference",
    "special",
    "shapes",
)
# The order they run in: what most often fails, and fails cheapest, first.
RUN_ORDER = (
    "interpreter",
    "writes",
    "integers",
    "special",
    "shapes",
    "batch",
    "deterministic",
    "memory",
    "schedules",
    "reference",
)
NEEDS_EQUAL_BITS = ("deterministic", "interpreter", "schedules", "batch")
"""Checks that compare bits on inputs whose sums round."""
VALUE_CHECKS = ("interpreter", "integers", "special", "shapes", "reference")
Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What to verify with. `sizes` must give every static size; run-time ones that are absent are chosen."""

    sizes: Sizes
    level: Level = "quick"
    reference: Reference | Program | None = None
    criterion: Criterion = field(default_factory=Criterion)
    scalars: Scalars = field(default_factory=dict)
    seed: int = 0


def make_subject(
    program: Program,
    executor: Executor,
    tracker: Executor | None,
    sizes: tuple[SizeInfo, ...],
    options: VerifyOptions,
) -> Subject:
    """Return what the checks look at. sizes: every named size of the kernel.

    Errors: BuildError; ImpossiblePromise or NotEnoughMemory where no call of the base sizes can be made here.
    """
    kernel = program.tile(options.sizes)
    signature = signature_of(kernel)
    tiles = [tile for schedule in program.schedules(options.sizes, 1) if schedule for tile in schedule.grids[0].tile]
    most = None if executor.device == "cuda" else MOST_ELEMS[options.level]
    plan = plan_sizes(kernel, sizes, options.sizes, options.level, tiles, most)
    check_tensors(signature.tensors, plan.base)
    check_values(kernel, plan.base)
    check_promises(signature, plan.base)
    oracle = Oracle(program, is_nondeterministic(kernel))
    level, scalars, seed = options.level, options.scalars, options.seed
    requires = any(op.name == "require" or op.attrs.get("distinct") for op in walk(kernel.body))
    return Subject(program, executor, tracker, signature, oracle, plan, level, scalars, seed, requires)


def run_checks(subject: Subject, options: VerifyOptions, progress: Progress | None = None) -> VerifyResult:
    """Run all checks and judge. Never raises for a wrong kernel."""
    outcomes: dict[str, Outcome] = {}
    timings: dict[str, float] = {}
    reference = options.reference
    pending = None if reference is None else start_reference(reference, subject, options.criterion)
    try:
        for number, name in enumerate(RUN_ORDER):
            if progress is not None:
                progress(number / len(RUN_ORDER), name)
            start = time.perf_counter()
            outcomes[name] = _run_check(subject, name, pending, options.criterion)
            timings[name] = (time.perf_counter() - start) * 1e3
    finally:
        if pending is not None:
            pending.close()
    return judge(
        outcomes, options.criterion, subject.executor.device, timings, nondeterministic=subject.nondeterministic
    )


def _run_check(subject: Subject, name: str, pending: Answers | None, criterion: Criterion) -> Outcome:
    try:
        if subject.nondeterministic and name in NEEDS_EQUAL_BITS:
            return not_applicable(name, WHY)
        if name == "reference":
            return check_reference(subject, pending, criterion)
        return CHECKS[name](subject)
    except ExecutionError as e:
        return failed(name, str(e))
    except BuildError as e:
        return not_run(name, str(e))
    except InterpreterError as e:
        return not_run(name, f"the interpreter cannot run this kernel: {e}")


def judge(
    outcomes: Mapping[str, Outcome],
    criterion: Criterion,
    device: str,
    timings_ms: Mapping[str, float],
    *,
    nondeterministic: bool = False,
) -> VerifyResult:
    """Return the verdict that outcomes add up to; of a nondeterministic kernel never `bit_exact`."""
    controls = _controls(outcomes)
    records = tuple(_with_blind_spots(name, outcomes[name], controls) for name in NAMES)
    verdict = _verdict(records, controls, criterion, nondeterministic=nondeterministic)
    mismatch = next((outcomes[name].mismatch for name in RUN_ORDER if outcomes[name].mismatch is not None), None)
    problems = tuple(o.problem for o in outcomes.values() if o.problem is not None) if verdict == "not_run" else ()
    return VerifyResult(
        status="failed" if problems else _STATUS[verdict],
        diagnostics=tuple(diagnostic_record(problem) for problem in problems),
        summary=_summary(verdict, records, controls, mismatch, nondeterministic=nondeterministic),
        nondeterministic=nondeterministic,
        verdict=verdict,
        device=device,
        checks=records,
        mismatch=mismatch,
        controls=controls,
        timings_ms={name: round(ms, 1) for name, ms in timings_ms.items()},
    )


_STATUS: Mapping[Verdict, Status] = {
    "bit_exact": "ok",
    "within_bound": "ok",
    "wrong": "failed",
    "not_run": "unavailable",
}


def _controls(outcomes: Mapping[str, Outcome]) -> tuple[Control, ...]:
    """Return each control that some check had as a wrong answer: rejected if a check that passed rejects it."""
    found: dict[str, bool] = {}
    for outcome in outcomes.values():
        counts = outcome.record.status == "passed"
        for name, rejected in outcome.controls.items():
            found[name] = found.get(name, False) or (rejected and counts)
    return tuple(Control(name=name, rejected=rejected) for name, rejected in found.items())


def _with_blind_spots(name: str, outcome: Outcome, controls: tuple[Control, ...]) -> CheckRecord:
    """Return a check's record, saying which wrong answers happen to be right on all its inputs."""
    record = outcome.record
    blind = [control.name for control in controls if control.name not in outcome.controls]
    if name not in VALUE_CHECKS or record.status != "passed" or not blind:
        return record
    detail = f"{record.detail}; useless against `{'`, `'.join(blind)}`, which is right on these inputs"
    return record.model_copy(update={"detail": detail})


def _verdict(
    records: tuple[CheckRecord, ...], controls: tuple[Control, ...], criterion: Criterion, *, nondeterministic: bool
) -> Verdict:
    by_name = {record.name: record.status for record in records}
    if "failed" in by_name.values():
        return "wrong"
    if "not_run" in by_name.values() or (by_name["interpreter"] != "passed" and not nondeterministic):
        return "not_run"
    if not controls or not all(control.rejected for control in controls):
        return "not_run"
    if by_name["reference"] == "passed" and criterion.kind == "bound":
        return "within_bound"
    return "not_run" if nondeterministic else "bit_exact"


def _summary(
    verdict: Verdict,
    records: tuple[CheckRecord, ...],
    controls: tuple[Control, ...],
    mismatch: Mismatch | None,
    *,
    nondeterministic: bool,
) -> str:
    said = f"; {WORDS}" if nondeterministic else ""
    passed_names = [r.name for r in records if r.status == "passed"]
    if verdict == "wrong":
        wrong = next(r for r in records if r.status == "failed")
        where = f" at {mismatch.output}{list(mismatch.index)}" if mismatch is not None else ""
        # only a reference says what the kernel should be; the others compare agentkern with itself
        step = "change the kernel and verify again" if wrong.name == "reference" else "agentkern is at fault: report it"
        return f"wrong: `{wrong.name}` failed{where}: {wrong.detail}{said}; {step}"
    if verdict == "not_run":
        missing = [f"`{r.name}`: {r.detail}" for r in records if r.status == "not_run"]
        missing += [f"the checks let `{c.name}` through" for c in controls if not c.rejected]
        if nondeterministic and controls and not missing:
            step = "hold the kernel to a `--reference` with a bound: `--criterion bound:max_error_ratio=2`"
            return f"no verdict{said}; shown: {', '.join(passed_names)}; next: {step}"
        return f"no verdict: {'; '.join(missing) or 'no check could tell a wrong answer'}{said}"
    rejected = f"{counted(len(passed_names), 'check')} passed, {counted(len(controls), 'wrong answer')} rejected"
    if "reference" in passed_names:
        return f"{verdict.replace('_', '-')}: {rejected}{said}; next: `agentkern profile`"
    return f"bit-exact: the code does what the kernel says ({rejected}); next: hold the kernel to a `--reference`"
