"""Runs a kernel on given inputs in the interpreter and in the simulator, demands equal bits, returns the outputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel, schedules
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.reference_formats import STORAGE
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.launch_blocks import blocks_of
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from tests.compiler.agreement import HEADER, POISON, scalars

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel `header + body` for tensors of these sizes; `alignment`: of every tensor's address, in bytes."""

    body: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    statics: Mapping[str, int] = field(default_factory=dict)
    header: str = HEADER
    strided: tuple[str, ...] = ()
    alignment: int = 16
    count: int = 2


def codes(body: str, statics: Mapping[str, int] | None = None, header: str = HEADER) -> list[str]:
    """The codes of what a build reports."""
    result = compile_kernel(CompileRequest(header + body, "kernel.py", dims=statics or {}))
    return [d.code for d in result.diagnostics]


def builds(case: Case) -> list[CompileResult]:
    """One build for each of `count` schedules."""
    request = CompileRequest(case.header + case.body, "kernel.py", dims=case.statics)
    first = compile_kernel(request)
    assert first.kernel is not None, [(d.code, d.message) for d in first.diagnostics]
    variant = fitting_variant(first.kernel, case.sizes, case.strided, case.alignment)
    request = replace(request, variant=variant)
    base = compile_kernel(request)
    assert base.status == "ok" and base.kernel is not None, [(d.code, d.message) for d in base.diagnostics]
    found = [compile_kernel(replace(request, schedule=s)) for s in schedules(base.kernel, variant, case.count)]
    assert [result.status for result in found] == ["ok"] * len(found)
    return found


def arrays(result: CompileResult, sizes: Mapping[str, int], given: Arrays) -> dict[str, np.ndarray]:
    """The arrays of one call: inputs as given, fresh copies of what is written in place, poisoned outputs."""
    assert result.kernel is not None
    found: dict[str, np.ndarray] = {}
    for value in result.kernel.params:
        name = value.name or ""
        if not isinstance(value.type, TensorType):
            continue
        if name in given:
            found[name] = given[name] if value.type.access == "in" else given[name].copy()
            continue
        shape = tuple(dims.evaluate(extent, sizes) for extent in value.type.shape)
        found[name] = np.empty(shape, STORAGE[value.type.dtype.name])
        found[name].view(np.uint8)[...] = POISON
    return found


def run(case: Case, given: Arrays, cache: Path) -> dict[str, np.ndarray]:
    """What the interpreter gives; the simulator gave the same bits for every schedule and found nothing wrong."""
    want: dict[str, np.ndarray] = {}
    for result in builds(case):
        assert result.kernel is not None and result.abi is not None
        want, got = arrays(result, case.sizes, given), arrays(result, case.sizes, given)
        interpret(result.kernel, want, case.sizes, scalars(result))
        options = SimulatorOptions(line_map=result.lines)
        module = build(result.cuda, cache)
        reports = simulate(result.abi, module, got, case.sizes, scalars(result), options)
        assert [finding.message for report in reports for finding in report.findings] == []
        assert [name for name in want if want[name].tobytes() != got[name].tobytes()] == []
    return want


def run_last_block(case: Case, tensors: Arrays, cache: Path) -> None:
    """Simulate only the last block of a kernel of one launch, in place: the far end of tensors that are huge.

    Memory that no block touches is never backed by pages, so that gigabytes cost nothing here.
    """
    result = builds(case)[0]
    assert result.abi is not None
    (launch,) = result.abi.launches
    options = SimulatorOptions(blocks=(blocks_of(launch, case.sizes) - 1,), line_map=result.lines)
    (report,) = simulate(result.abi, build(result.cuda, cache), tensors, case.sizes, scalars(result), options)
    assert [finding.message for finding in report.findings] == []
