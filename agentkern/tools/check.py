"""Check a kernel: everything that can be said of it without making code."""

from __future__ import annotations

import time
from dataclasses import replace

from agentkern.compiler.abi import lists_of
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.ir.records import Layout, records_of
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.passes.simplify import share_repeated
from agentkern.compiler.proofs import ProofReport, diagnose, prove_kernel
from agentkern.diagnostics import Diagnostic, in_source_order, status_of
from agentkern.dsl.dtypes import DType
from agentkern.runtime.scalar_arguments import round_to
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.requests import CheckRequest
from agentkern.tools.results import CheckResult, ProofCounts, diagnostic_record

MISSING = "AK223"
"""The code of a value that is not there."""
MOST_OPTIONAL = 6
"""Optional tensors whose absence is tried: each is a pass of the front end and the prover."""


def check(request: CheckRequest) -> CheckResult:
    """Return every diagnostic of the kernel. Sizes without a number stay symbols."""
    started = time.perf_counter()
    lowered = lower_source(request.source, request.path, request.kernel, request.dims, request.settings)
    lowered_at = time.perf_counter()
    report = prove_kernel(share_repeated(lowered.kernel)) if lowered.kernel is not None else ProofReport(())
    proved_at = time.perf_counter()
    found = (*lowered.diagnostics, *diagnose(report, request.path))
    diagnostics = in_source_order((*found, *_without_optional(request, lowered.optional, found)))
    timings = {"frontend": lowered_at - started, "proofs": proved_at - lowered_at}
    return CheckResult(
        status=status_of(diagnostics),
        summary=_summary(diagnostics, lowered.kernels, said_of(lowered.outline)),
        diagnostics=tuple(diagnostic_record(diagnostic) for diagnostic in diagnostics),
        nondeterministic=lowered.outline is not None and is_nondeterministic(lowered.outline),
        kernels=lowered.kernels,
        signature=signature_text(lowered.kernel) if lowered.kernel is not None else None,
        proofs=ProofCounts(**report.counts()) if lowered.kernel is not None else None,
        timings_ms={phase: round(seconds * 1e3, 2) for phase, seconds in timings.items()},
    )


def _without_optional(
    request: CheckRequest, optional: tuple[str, ...], known: tuple[Diagnostic, ...]
) -> list[Diagnostic]:
    """What is wrong only in builds without an optional tensor: without all, and without each.

    A tensor that is read where another is given goes with that one: its absence alone is a wrong call, no wrong kernel.
    """
    given = [name for name in optional if name not in request.settings][:MOST_OPTIONAL]
    seen = {(d.code, d.span) for d in known}
    found: list[Diagnostic] = []
    for absent in dict.fromkeys([tuple(given), *((name,) for name in given)] if given else []):
        for diagnostic in _build_without(request, absent):
            goes_along = diagnostic.code == MISSING and len(absent) < len(given)
            if (diagnostic.code, diagnostic.span) not in seen and not goes_along:
                seen.add((diagnostic.code, diagnostic.span))
                without = ", ".join(f"`{name}`" for name in absent)
                found.append(replace(diagnostic, message=f"{diagnostic.message} (without {without})"))
    return found


def _build_without(request: CheckRequest, absent: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    settings = {**request.settings, **dict.fromkeys(absent, False)}
    lowered = lower_source(request.source, request.path, request.kernel, request.dims, settings)
    proved = prove_kernel(share_repeated(lowered.kernel)) if lowered.kernel is not None else ProofReport(())
    return (*lowered.diagnostics, *diagnose(proved, request.path))


def signature_text(kernel: Kernel) -> str:
    """Return the kernel's parameters on one line, as they are written."""
    defaults = kernel.attrs.get("defaults", ())
    assert isinstance(defaults, tuple)
    values = dict(defaults)
    params: list[str] = []
    records = records_of(kernel)
    lists = {name: listed for listed in lists_of(kernel) for name in listed.entries}
    for param in kernel.params:
        listed = lists.get(param.name or "")
        if isinstance(param.type, TensorType) and param.type.table:
            text = _tensor_text(param.type.entry, records.get(f"{param.name}[0]"))
            params.append(f"{param.name}: List[{text}, {param.type.count}]")
        elif isinstance(param.type, TensorType) and listed is not None:
            if param.name == listed.entries[0]:
                text = _tensor_text(param.type, records.get(listed.entries[0]))
                params.append(f"{listed.name}: List[{text}, {listed.count}]")
        elif isinstance(param.type, TensorType) and param.type.access != "scratch":
            params.append(f"{param.name}: {_tensor_text(param.type, records.get(param.name or ''))}")
        elif isinstance(param.type, TileType):
            default = f" = {_shortest(values[param.name], param.type.dtype)}" if param.name in values else ""
            params.append(f"{param.name}: {param.type.dtype}{default}")
    return f"{kernel.name}({', '.join(params)})"


def _tensor_text(type_: TensorType, record: Layout | None) -> str:
    access = {"in": "In", "out": "Out", "inout": "InOut"}[type_.access]
    shape = type_.shape if record is None else type_.shape[:-1]
    strides = type_.strides
    if record is not None and strides is not None:
        strides = tuple(dims.floordiv(stride, record.nbytes) for stride in strides[:-1])
    layout = "" if strides is None else f".strides({', '.join(map(str, strides))})"
    layout += f".aligned({type_.aligned})" if type_.aligned > 1 else ""
    of = type_.dtype if record is None else record.name
    return f"{access}[{of}{''.join(f', {extent}' for extent in shape)}]{layout}"


def _shortest(value: float, dtype: DType) -> str:
    """The fewest digits that round to `value` in `dtype`: 1e-06, not 9.999999974752427e-07."""
    if isinstance(value, float):
        for digits in range(1, 17):
            text = f"{value:.{digits}g}"
            if round_to(float(text), dtype) == value:
                return text
    return str(value)


def _summary(diagnostics: tuple[Diagnostic, ...], kernels: tuple[str, ...], said: str) -> str:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if not errors:
        what = f"`{kernels[0]}` is" if len(kernels) == 1 else f"{len(kernels)} kernels are"
        return f"{what} in order{said}; next: verify"
    first = errors[0]
    place = f", line {first.span.start[0]}" if first.span.has_place else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    n_fixes = sum(bool(diagnostic.fixes) for diagnostic in errors)
    fixes = f"{n_fixes} with a fix to apply; " if n_fixes else ""
    return f"{first.code}{place}: {first.message}{more}; {fixes}then check again"
