"""What the simulator found wrong with a launch, as a diagnostic: a required condition, or an error of our own."""

from __future__ import annotations

from collections.abc import Iterable

from agentkern.compiler.ir.core import Kernel, walk
from agentkern.diagnostics import Diagnostic, Span, error
from agentkern.runtime.simulator import FindingKind, SimulatorReport


def failure_of(reports: Iterable[SimulatorReport], kernel: Kernel, path: str) -> Diagnostic | None:
    """The diagnostic of the first launch that was not clean; None if all were. `kernel` is the TILE kernel."""
    unclean = next((report for report in reports if not report.clean), None)
    if unclean is None:
        return None
    first = unclean.findings[0]
    if first.kind is FindingKind.TRAP:
        return _trapped(kernel, path, first.kernel_line)
    return error("AK901", Span(path), reason=first.message)


def _trapped(kernel: Kernel, path: str, line: int | None) -> Diagnostic:
    """The required condition of a line that stopped the launch."""
    for op in walk(kernel.body):
        if op.name == "require" and op.location is not None and op.location[0] == line:
            span = Span(path, op.location[:2], op.location[2:])
            return error("AK716", span, reason=str(op.attrs["message"]))
    return error("AK716", Span(path), reason="a block stopped the launch")
