"""Run one launch with the earliest and the latest completion of asynchronous operations, and compare the bits.

Knows nothing of what the operations do: a result that depends on when they complete is a defect whatever it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from agentkern.runtime.simulator.records import (
    Argument,
    Buffer,
    Completion,
    Finding,
    FindingKind,
    SimulatorOptions,
    SimulatorReport,
    buffers_of,
)


def compare_completions(
    launch: Callable[[SimulatorOptions], SimulatorReport], arguments: Sequence[Argument], options: SimulatorOptions
) -> SimulatorReport:
    """Call `launch` for the latest, then for the earliest completion; the buffers are left as the earliest has them.

    The report is the earliest run's with what only the latest run found, and COMPLETION_DEPENDENT for each buffer of
    `arguments` whose bits differ.
    """
    buffers = _written_buffers(arguments)
    before = [_contents(buffer) for buffer in buffers]
    latest = launch(dataclasses.replace(options, completion=Completion.LATEST))
    after_latest = [buffer.array.copy() for buffer in buffers]
    for buffer, contents in zip(buffers, before, strict=True):
        _restore(buffer, contents)
    earliest = launch(dataclasses.replace(options, completion=Completion.EARLIEST))
    findings = _merged(earliest.findings, latest.findings)
    completed = earliest.completed and latest.completed
    if completed:
        pairs = zip(buffers, after_latest, strict=True)
        findings += tuple(found for buffer, late in pairs if (found := _difference(buffer, late)) is not None)
    unrecorded = max(earliest.n_unrecorded, latest.n_unrecorded)
    return SimulatorReport(findings, unrecorded, completed, earliest.stats)


def _written_buffers(arguments: Sequence[Argument]) -> list[Buffer]:
    found: dict[int, Buffer] = {}
    for argument in arguments:
        found.update((id(buffer), buffer) for buffer in buffers_of(argument) if buffer.writable)
    return list(found.values())


def _contents(buffer: Buffer) -> tuple[np.ndarray, np.ndarray | None]:
    bits = buffer.initialised_bits
    return buffer.array.copy(), None if bits is None else bits.copy()


def _restore(buffer: Buffer, contents: tuple[np.ndarray, np.ndarray | None]) -> None:
    array, bits = contents
    buffer.array[...] = array
    if buffer.initialised_bits is not None and bits is not None:
        buffer.initialised_bits[...] = bits


def _merged(first: tuple[Finding, ...], second: tuple[Finding, ...]) -> tuple[Finding, ...]:
    known = {_identity(finding) for finding in first}
    return first + tuple(finding for finding in second if _identity(finding) not in known)


def _identity(finding: Finding) -> tuple[FindingKind, int, str | None, int | None]:
    return finding.kind, finding.line, finding.buffer, finding.other.line if finding.other else None


def _difference(buffer: Buffer, late: np.ndarray) -> Finding | None:
    """Return the first element of `buffer` whose bits the latest completion makes others."""
    shape = (*buffer.array.shape, buffer.array.itemsize)
    early_bytes, late_bytes = (
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(shape) for array in (buffer.array, late)
    )
    differing = (early_bytes != late_bytes).any(axis=-1)
    if not differing.any():
        return None
    index = tuple(int(i) for i in np.argwhere(differing)[0])
    early, other = (bytes(array[index][::-1]).hex() for array in (early_bytes, late_bytes))
    message = (
        f"bits of `{buffer.name}` depend on when asynchronous operations complete: element {list(index)} is 0x{early}"
        f" at the earliest and 0x{other} at the latest; {int(differing.sum())} of {buffer.array.size} elements differ"
    )
    return Finding(FindingKind.COMPLETION_DEPENDENT, message, 0, None, 0, 0, 1, buffer=buffer.name, index=index)
