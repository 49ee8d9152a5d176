"""Run a kernel in the interpreter and on something else, under several schedules, and say where bits differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from agentkern.compiler.driver import CompileResult, compile_kernel, schedules
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.variants import fitting_variant
from tests.compiler.agreement import arrays, scalars
from tests.gpu.language_cases import LanguageCase

Arrays = Mapping[str, np.ndarray]
Scalars = Mapping[str, int | float | bool]
Execute = Callable[[CompileResult, Arrays, Mapping[str, int], Scalars], list[str]]
"""Runs what was compiled, writing the arrays in place; returns what it found wrong besides."""
Prepare = Callable[[CompileResult], Execute]


def differences(case: LanguageCase, target: str, prepare: Prepare) -> list[str]:
    """What differs from the interpreter, over input kinds and schedules. `prepare` is asked once for each build."""
    request = replace(case.request, target=target)
    first = compile_kernel(request)
    assert first.kernel is not None, [d.message for d in first.diagnostics]
    request = replace(request, variant=fitting_variant(first.kernel, case.sizes))
    base = compile_kernel(request)
    assert base.kernel is not None and base.status == "ok", [(d.code, d.message) for d in base.diagnostics]
    found: list[str] = []
    for schedule in schedules(base.kernel, request.variant, case.schedules):
        result = compile_kernel(replace(request, schedule=schedule))
        assert result.status == "ok", [(d.code, d.message) for d in result.diagnostics]
        execute = prepare(result)
        for kind in case.kinds:
            want, got = arrays(base.kernel, case.sizes, kind), arrays(base.kernel, case.sizes, kind)
            interpret(base.kernel, want, case.sizes, scalars(base))
            found += execute(result, got, case.sizes, scalars(base))
            names = [name for name in want if want[name].tobytes() != got[name].tobytes()]
            found += [f"{schedule.text()}: `{name}` differs for {kind}" for name in names]
    return found
