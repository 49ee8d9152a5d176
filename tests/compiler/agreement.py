"""Runs a kernel's text in the interpreter and in the simulator, and compares bits."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from agentkern.compiler.abi import ScalarParam, TensorParam, params_of
from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel, schedules
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from agentkern.tools.inputs import Kind, generate_for
from agentkern.tools.promised_inputs import keep_promises

HEADER = """import agentkern as ak

T, N, M, B = ak.dim("T"), ak.dim("N"), ak.dim("M"), ak.dim("B")
H, G = ak.static("H"), ak.static("G")


@ak.kernel
"""
POISON = 0xA5


def compiled(body: str, statics: Mapping[str, int], sizes: Mapping[str, int]) -> CompileResult:
    """The kernel `HEADER + body`, built for tensors of these sizes."""
    return built(CompileRequest(HEADER + body, "kernel.py", dims=statics), sizes)


def built(request: CompileRequest, sizes: Mapping[str, int]) -> CompileResult:
    """A request's kernel, built for tensors of these sizes."""
    first = compile_kernel(request)
    assert first.kernel is not None, [d.message for d in first.diagnostics]
    result = compile_kernel(replace(request, variant=fitting_variant(first.kernel, sizes)))
    assert result.status == "ok", [(d.message, d.hint) for d in result.diagnostics]
    return result


def arrays(kernel: Kernel, sizes: Mapping[str, int], kind: Kind, seed: int = 7) -> dict[str, np.ndarray]:
    """Seeded inputs and poisoned outputs, in raw storage."""
    found: dict[str, np.ndarray] = {}
    for given in params_of(kernel):
        if not isinstance(given, TensorParam):
            continue
        shape = tuple(dims.evaluate(extent, sizes) for extent in given.shape)
        param = TensorParam(given.name, given.dtype, shape, given.access, given.record)
        array = generate_for(kind, param, shape, seed)
        if given.access in ("out", "scratch"):
            array = array.copy()
            array.view(np.uint8)[...] = POISON
        found[given.name] = array
    return keep_promises(promises_of(kernel), found, sizes)


def scalars(result: CompileResult) -> dict[str, int | float | bool]:
    """Defaults of the scalar parameters; 1 of those that have none."""
    assert result.abi is not None
    params = [p for p in result.abi.params if isinstance(p, ScalarParam)]
    return {p.name: 1 if p.default is None else p.default for p in params}


def disagreements(
    body: str, statics: Mapping[str, int], sizes: Mapping[str, int], kinds: tuple[Kind, ...], count: int, cache: Path
) -> list[str]:
    """What differs between interpreter and simulator over input kinds and `count` schedules; findings included."""
    return request_disagreements(CompileRequest(HEADER + body, "kernel.py", dims=statics), sizes, kinds, count, cache)


def request_disagreements(
    request: CompileRequest, sizes: Mapping[str, int], kinds: tuple[Kind, ...], count: int, cache: Path
) -> list[str]:
    """What differs for a request's kernel; scalars without a default are 1, as `run` takes them."""
    base = built(request, sizes)
    assert base.kernel is not None and base.abi is not None
    found: list[str] = []
    request = replace(request, variant=base.abi.variant)
    for schedule in schedules(base.kernel, base.abi.variant, count):
        result = compile_kernel(replace(request, schedule=schedule))
        assert result.status == "ok" and result.abi is not None, [d.message for d in result.diagnostics]
        module = build(result.cuda, cache)
        for kind in kinds:
            want, got = arrays(base.kernel, sizes, kind), arrays(base.kernel, sizes, kind)
            interpret(base.kernel, want, sizes, scalars(base))
            options = SimulatorOptions(line_map=result.lines)
            reports = simulate(result.abi, module, got, sizes, scalars(base), options)
            found += [f"{schedule.text()}: {finding.message}" for report in reports for finding in report.findings[:2]]
            found += [
                f"{schedule.text()}: `{name}` differs for {kind}"
                for name in want
                if want[name].tobytes() != got[name].tobytes()
            ]
    return found
