"""The checks of verification by name. Each returns an outcome; none decides the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from agentkern.compiler.ir.reference_formats import Raw
from agentkern.compiler.proofs.in_place import in_place_pairs
from agentkern.tools.promised_inputs import ImpossiblePromise
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_cases import batch_size_name, batch_slices
from agentkern.tools.verify_compare import first_difference
from agentkern.tools.verify_controls import CONTROLS
from agentkern.tools.verify_model import Arrays, BuildError, Call, Case, Run, RunOptions
from agentkern.tools.verify_orders import ROUNDS, count_open, still_poisoned
from agentkern.tools.verify_subject import (
    Outcome,
    Subject,
    defects,
    difference_text,
    failed,
    has_elements,
    not_applicable,
    not_run,
    passed,
    try_controls,
)

DETERMINISTIC_RUNS = 20
MEMORY_ORDERS = 4
SCHEDULES = {"quick": 4, "full": 8}
WRITES_CONTROLS = ("stale output", "dropped tail")


REQUIRES = "no inputs of this kind meet what the kernel requires"


def _admitted(subject: Subject, cases: Sequence[Case]) -> list[Case]:
    """The cases that meet what the kernel requires; others stop the launch, as they should."""
    return [case for case in cases if subject.is_admitted(case)]


def _against_oracle(subject: Subject, name: str, cases: Sequence[Case], note: str = "") -> Outcome:
    """Compare the executor with the oracle, then ask whether the same comparison rejects the controls."""

    def judge(case: Case, got: Arrays) -> Mismatch | None:
        return subject.difference(case.call, got)

    cases = _admitted(subject, cases)
    if not cases:
        return not_applicable(name, REQUIRES)
    n_open, n_elems = _count_open(subject, cases)
    if n_open == n_elems > 0:
        return not_applicable(name, ROUNDS)
    note += f"; {n_open} of {n_elems} elements, whose sums round, left out" if n_open else ""
    for case in cases:
        run = subject.run(case)
        mismatch = judge(case, run.outputs)
        if mismatch is not None:
            return failed(name, difference_text(mismatch, case.name), mismatch)
        defect = defects(run)
        if defect is not None:
            return failed(name, f"{case.name}: {defect}")
    controls = try_controls(subject, [case for case in cases if has_elements(case)], judge)
    return passed(name, f"bit-equal to the interpreter in {len(cases)} cases{note}", controls)


def _count_open(subject: Subject, cases: Sequence[Case]) -> tuple[int, int]:
    """How many output elements have more than one right answer, and how many there are."""
    if not subject.nondeterministic:
        return 0, 0
    answers = [(subject.oracle(case.call), subject.oracle.orders(case.call)) for case in cases]
    return count_open(subject.signature.outputs, answers)


def check_interpreter(subject: Subject) -> Outcome:
    """Compare random, widely spread and tie-breaking inputs at the base size."""
    cases = [subject.case(kind, subject.plan.base) for kind in ("random", "wide", "edge")]
    note = f", at {subject.plan.note}: more takes too long here" if subject.plan.note else ""
    return _against_oracle(subject, "interpreter", cases, note)


def check_integers(subject: Subject) -> Outcome:
    """Compare small integers, whose partial sums are exact in any order."""
    cases = [subject.case("integers", sizes) for sizes in (subject.plan.base, subject.plan.small)]
    found = _against_oracle(subject, "integers", cases)
    return _in_orders(subject, found, cases[1]) if subject.nondeterministic else found


def _in_orders(subject: Subject, found: Outcome, case: Case) -> Outcome:
    """A pass held to other orders of threads and blocks, and to other schedules; no other check compares these."""
    if found.record.status != "passed" or not subject.is_admitted(case):
        return found
    schedules = subject.program.schedules(case.call.sizes, SCHEDULES[subject.level])
    ways = [RunOptions(order=order) for order in range(1, MEMORY_ORDERS)]
    ways += [RunOptions(schedule=schedule) for schedule in schedules[1:]]
    subject.build_ahead([(case.call.sizes, options) for options in ways])
    for number, options in enumerate(ways, 1):
        run = subject.run(case, options)
        mismatch = subject.difference(case.call, run.outputs)
        if mismatch is not None:
            return failed("integers", difference_text(mismatch, f"{case.name}, order or schedule {number}"), mismatch)
    detail = f"{found.record.detail}; the same in {MEMORY_ORDERS} orders and {len(schedules)} schedules"
    return replace(found, record=found.record.model_copy(update={"detail": detail}))


def check_special(subject: Subject) -> Outcome:
    """Compare NaNs, infinities, zeros of both signs, denormals, the largest and smallest."""
    cases = [subject.case("special", sizes) for sizes in (subject.plan.base, subject.plan.small)]
    return _against_oracle(subject, "special", cases)


def check_shapes(subject: Subject) -> Outcome:
    """Compare at extents 0, 1, odd, prime, around each block, larger than shown, strided, and at other static sizes."""
    # sums of integers do not round: they have one answer in every order
    kind = "integers" if subject.nondeterministic else "random"
    cases = [subject.case(kind, sizes) for sizes in subject.plan.shapes]
    left_out: list[str] = []
    strided = [(sizes, RunOptions(strided=True)) for sizes in (subject.plan.base, subject.plan.small)]
    subject.build_ahead([*((sizes, RunOptions()) for sizes in subject.plan.static_shapes), *strided])
    for sizes in subject.plan.static_shapes:
        try:
            case = subject.case(kind, sizes)
            subject.run(case)
        except BuildError as e:
            left_out.append(str(e))
        except ImpossiblePromise:
            continue  # of these sizes there is no call
        else:
            cases.append(case)
    try:
        both = [subject.case(kind, s) for s in (subject.plan.base, subject.plan.small)]
        wrong = _otherwise_placed(subject, _admitted(subject, both))
    except BuildError as e:
        left_out.append(f"strided tensors: {e}")
    else:
        if wrong is not None:
            return wrong
    note = f"; left out: {'; '.join(left_out)}" if left_out else ", with strided tensors, and in place where it may be"
    return _against_oracle(subject, "shapes", cases, note)


def _otherwise_placed(subject: Subject, cases: Sequence[Case]) -> Outcome | None:
    """Return what is wrong with strided tensors, or with outputs that are inputs where they may be, if anything is."""
    for case in cases:
        filled = {param.name for param in subject.signature.filled}
        pairs = tuple(pair for pair in in_place_pairs(subject.program.tile(case.call.sizes)) if pair[0] in filled)
        ways = {"strided": RunOptions(strided=True)} | ({"in place": RunOptions(shared=pairs)} if pairs else {})
        for how, options in ways.items():
            run = subject.run(case, options)
            mismatch = subject.difference(case.call, run.outputs)
            if mismatch is not None:
                return failed("shapes", difference_text(mismatch, f"{case.name}, {how}"), mismatch)
            defect = defects(run)
            if defect is not None:
                return failed("shapes", f"{case.name}, {how}: {defect}")
    return None


def check_writes(subject: Subject) -> Outcome:
    """Poison the outputs in two ways: an element that was not written differs; guard bands and inputs must not."""
    outputs = subject.signature.filled
    cases = [
        subject.case("random", sizes) for sizes in (subject.plan.base, *subject.plan.shapes[:3], subject.plan.small)
    ]
    cases = _admitted(subject, cases)
    if not cases:
        return not_applicable("writes", REQUIRES)
    for case in cases:
        runs = [subject.run(case, RunOptions(poison=which)) for which in (0, 1)]
        kept = _unwritten(subject, [run.outputs for run in runs])
        if kept is not None:
            index = ", ".join(map(str, kept.index))
            return failed("writes", f"{case.name}: {kept.output}[{index}] is not written", kept)
        damage = next((message for run in runs for message in run.damage), None)
        if damage is not None:
            return failed("writes", f"{case.name}: {damage}")
    # what an InOut or partial tensor holds before may stay: only the guard bands can tell there
    if not outputs:
        return passed("writes", f"guard bands and inputs intact in {len(cases)} cases; no output begins empty")
    detail = f"every element written, guard bands and inputs intact in {len(cases)} cases"
    return passed("writes", detail, _writes_controls(subject, cases[0]))


def _writes_controls(subject: Subject, case: Case) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name in WRITES_CONTROLS:
        pair = [CONTROLS[name](subject.signature, case.call, subject.oracle, which) for which in (0, 1)]
        found[name] = _unwritten(subject, pair) is not None
    return found


def _unwritten(subject: Subject, runs: Sequence[Arrays]) -> Mismatch | None:
    """Return the first element that differs between runs over two poisons, or still has both."""
    outputs = subject.signature.filled
    if subject.nondeterministic:
        return still_poisoned(outputs, runs)
    return first_difference(outputs, runs[0], runs[1])


def check_memory(subject: Subject) -> Outcome:
    """Look for races, uninitialised reads and accesses out of bounds, in several orders of threads and blocks."""
    if subject.tracker is None:
        return not_run("memory", "the CPU simulator needs a C++ compiler; `agentkern doctor` says what to install")
    small = [subject.case("random", sizes) for sizes in (*subject.plan.shapes[:4], subject.plan.small)]
    runs = [(case, order) for case in small for order in range(MEMORY_ORDERS)]
    runs.append((subject.case("random", subject.plan.base), 0))
    runs = [(case, order) for case, order in runs if subject.is_admitted(case)]
    if not runs:
        return not_applicable("memory", REQUIRES)
    for case, order in runs:
        defect = defects(subject.tracker.run(case.call, RunOptions(order=order, tracked=True)))
        if defect is not None:
            return failed("memory", f"{case.name}, order {order}: {defect}")
    return passed("memory", f"no race, uninitialised read or access out of bounds in {len(runs)} runs")


def check_deterministic(subject: Subject) -> Outcome:
    """Run many times, in permuted orders where the executor has them, and compare the bits."""
    case = subject.case("random", subject.plan.small)
    if not subject.is_admitted(case):
        return not_applicable("deterministic", REQUIRES)
    first = subject.run(case)
    for order in range(1, DETERMINISTIC_RUNS):
        again = subject.run(case, RunOptions(order=order))
        mismatch = first_difference(subject.signature.outputs, again.outputs, first.outputs)
        if mismatch is not None:
            return failed("deterministic", difference_text(mismatch, f"run {order}"), mismatch)
    orders = " in permuted orders of threads and blocks" if subject.executor.device == "cpu" else ""
    return passed("deterministic", f"{DETERMINISTIC_RUNS} runs gave the same bits{orders}")


def check_schedules(subject: Subject) -> Outcome:
    """Compare the bits of several schedules."""
    wanted = SCHEDULES[subject.level]
    schedules = subject.program.schedules(subject.plan.base, wanted)
    if len(schedules) < 2:
        return not_applicable("schedules", "the kernel has one schedule only")
    cases = [subject.case("random", subject.plan.base), subject.case("special", subject.plan.small)]
    cases = _admitted(subject, cases)
    if not cases:
        return not_applicable("schedules", REQUIRES)
    ways = [RunOptions(schedule=schedule) for schedule in schedules]
    subject.build_ahead([(case.call.sizes, options) for case in cases for options in ways])
    for case in cases:
        first: Run | None = None
        for number, options in enumerate(ways):
            run = subject.run(case, options)
            defect = defects(run)
            if defect is not None:
                return failed("schedules", f"{case.name}, schedule {number}: {defect}")
            first = first or run
            mismatch = first_difference(subject.signature.outputs, run.outputs, first.outputs)
            if mismatch is not None:
                return failed("schedules", difference_text(mismatch, f"{case.name}, schedule {number}"), mismatch)
    short = "" if len(schedules) >= wanted else f" (all there are; {wanted} are asked for)"
    return passed("schedules", f"{len(schedules)} schedules gave the same bits{short}")


def check_batch(subject: Subject) -> Outcome:
    """Compare rows computed in other batch sizes and at other positions with the same rows of the base case."""
    name = batch_size_name(subject.program.tile(subject.plan.base))
    if name is None:
        return not_applicable("batch", "no size whose indices are independent of one another")
    case = subject.case("random", subject.plan.base)
    if not subject.is_admitted(case):
        return not_applicable("batch", REQUIRES)
    rows = subject.plan.base[name]
    whole = subject.run(case).outputs
    pieces = [(start, stop) for start, stop in _pieces(rows) if 0 <= start < stop <= rows]
    for start, stop in pieces:
        part = subject.run(Case("", _rows_of(subject, case.call, name, start, stop))).outputs
        want = _cut(subject, whole, name, start, stop)
        mismatch = first_difference(subject.signature.outputs, part, want)
        if mismatch is not None:
            where = f"{name} = {stop - start} rows from {start} of {rows}"
            return failed("batch", difference_text(mismatch, where), mismatch)
    sizes = sorted({stop - start for start, stop in pieces} | {rows})
    return passed("batch", f"the same bits at {name} = {', '.join(map(str, sizes))} and {len(pieces)} positions")


def _pieces(rows: int) -> tuple[tuple[int, int], ...]:
    middle = rows // 2
    return ((0, 1), (rows - 1, rows), (middle, middle + 1), (1, 4), (middle - 1, middle + 4), (0, rows - 1))


def _cut(subject: Subject, arrays: Arrays, name: str, start: int, stop: int) -> dict[str, Raw]:
    axes = batch_slices(subject.signature, arrays, name)
    cut = {key: np.take(raw, range(start, stop), axis=axes[key]) for key, raw in arrays.items() if key in axes}
    return {key: cut.get(key, raw) for key, raw in arrays.items()}


def _rows_of(subject: Subject, call: Call, name: str, start: int, stop: int) -> Call:
    tensors = _cut(subject, call.tensors, name, start, stop)
    return replace(call, tensors=tensors, sizes={**call.sizes, name: stop - start})


CHECKS: Mapping[str, Callable[[Subject], Outcome]] = {
    "writes": check_writes,
    "memory": check_memory,
    "deterministic": check_deterministic,
    "integers": check_integers,
    "interpreter": check_interpreter,
    "schedules": check_schedules,
    "batch": check_batch,
    "special": check_special,
    "shapes": check_shapes,
}
