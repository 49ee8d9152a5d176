"""Turn the engine's findings into records with messages. Decides nothing about what is a defect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agentkern.runtime.simulator.binding import (
    NO_BUFFER,
    SHARED_MEMORY,
    FindingStruct,
    RequestStruct,
    WaitStruct,
)
from agentkern.runtime.simulator.complaints import COMPLAINTS
from agentkern.runtime.simulator.records import (
    BarrierState,
    Buffer,
    Finding,
    FindingKind,
    OtherAccess,
    SimulatorReport,
    SimulatorStats,
    WaitGroup,
)

_ACCESS_NAMES = {
    0x000: "read",
    0x100: "read-only read",
    0x200: "write",
    0x300: "asynchronous read (bulk copy)",
    0x400: "asynchronous write (bulk copy)",
    0x500: "asynchronous read (wgmma)",
    0x600: "asynchronous read (cp.async)",
    0x700: "asynchronous write (cp.async)",
}
_WAIT_COLLECTIVE, _WAIT_MBARRIER, _WAIT_NAMED, _WAIT_CLUSTER, _WAIT_REGISTERS = 2, 4, 5, 6, 8
_FIRST_WARP_INSTRUCTION = 64
# By the engine's operation, where threads can wait in it.
_INSTRUCTIONS = {
    19: "wgmma",
    21: "ak_wgmma_wait",
    22: "mma",
    23: "ak_ldmatrix",
    24: "ak_stmatrix",
    31: "ak_elect_one",
    32: "ak_setmaxnreg_inc",
    33: "ak_setmaxnreg_dec",
}
_BARRIERS = ("__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count")
_COLLECTIVES = (
    "__shfl_sync",
    "__shfl_up_sync",
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__syncwarp",
)
_SIGNAL_CAUSES = {
    4: "an illegal host instruction",
    7: "a memory access that went round the accessors",
    8: "an integer division by zero",
    10: "a memory access that went round the accessors",
    11: "a memory access that went round the accessors",
}
_MESSAGES = {
    FindingKind.OUT_OF_BOUNDS: "{width}-byte {access} outside {buffer}, at {place}",
    FindingKind.MISALIGNED: "{width}-byte {access} of {buffer} is not aligned, at {place}",
    FindingKind.READ_ONLY_WRITE: "write to {buffer}, which is an input, at {place}",
    FindingKind.READ_ONLY_PATH: "{buffer} is read through the read-only path and written in one launch, at {place}",
    FindingKind.WRONG_SPACE: "a {access} with the address of the other memory space",
    FindingKind.UNINITIALISED: "{width}-byte {access} of {buffer} before anything wrote there, at {place}",
    FindingKind.RACE_THREADS: "race in {buffer} at {place}: {access} by thread {thread} and {other_access} by"
    " {other_thread} of block {block} with no barrier between",
    FindingKind.RACE_BLOCKS: "race in {buffer} at {place}: {access} by block {block} and {other_access} by block"
    " {other_block}",
    FindingKind.BARRIER_DIVERGENCE: "block barrier not reached by all threads: thread {thread} waits{elsewhere}",
    FindingKind.WARP_DIVERGENCE: "warp operation not reached by all lanes of its mask: thread {thread}"
    " waits{elsewhere}",
    FindingKind.SHUFFLE_SOURCE: "thread {thread} shuffles from {other_thread}, which is not in the mask",
    FindingKind.DEADLOCK: "deadlock in block {block}: {waits}",
    FindingKind.TRAP: "a required condition does not hold: `__trap` reached",
    FindingKind.STEP_LIMIT: "stopped at the limit of steps",
    FindingKind.TIME_LIMIT: "stopped at the limit of time",
    FindingKind.HOST_FAULT: "{cause}",
    FindingKind.STACK_OVERFLOW: "a thread's stack overflowed",
    FindingKind.MISSING_FENCE: "{access} of {buffer} at {place} after a {other_access} by {other_thread} of block"
    " {other_block}, with no `ak_fence_proxy_async` by that thread between",
    FindingKind.MBARRIER_MISUSE: "{complaint}",
    FindingKind.OPERAND_MISUSE: "{complaint}",
    FindingKind.REGISTERS_IN_FLIGHT: "{complaint}",
    FindingKind.NEVER_WAITED: "{complaint}",
    FindingKind.WARPGROUP_DIVERGENCE: "{complaint}",
    FindingKind.OUT_OF_SHADOW: "no memory left to check so many accesses; use the fast checks",
}


_COMPLAINING = (
    FindingKind.MBARRIER_MISUSE,
    FindingKind.OPERAND_MISUSE,
    FindingKind.REGISTERS_IN_FLIGHT,
    FindingKind.NEVER_WAITED,
    FindingKind.WARPGROUP_DIVERGENCE,
)


def make_report(request: RequestStruct, buffers: Sequence[Buffer], line_map: Mapping[int, int]) -> SimulatorReport:
    """Return the record of a finished launch; `buffers` are by window."""
    waits = _group_waits(request.waits[: request.n_waits], line_map)
    findings = tuple(_finding(request.findings[i], buffers, line_map, waits) for i in range(request.n_findings))
    stats = SimulatorStats(
        blocks=request.n_blocks_run,
        steps=request.n_steps,
        switches=request.n_switches,
        barriers=request.n_barriers,
        collectives=request.n_collectives,
        shadow_bytes=request.shadow_bytes,
        wall_s=request.wall_ns * 1e-9,
    )
    return SimulatorReport(findings, request.n_unrecorded, not request.stopped, stats)


def _finding(
    raw: FindingStruct, buffers: Sequence[Buffer], line_map: Mapping[int, int], waits: tuple[WaitGroup, ...]
) -> Finding:
    kind = FindingKind(raw.kind)
    buffer = _buffer_of(raw, buffers)
    other = _other(raw, kind, line_map)
    name = "shared" if raw.space_index == SHARED_MEMORY else buffer.name if buffer else None
    index = _index(buffer, raw.byte_offset) if buffer else None
    has_place = name is not None or kind in (FindingKind.OUT_OF_BOUNDS, FindingKind.WRONG_SPACE)
    message = _MESSAGES[kind].format(
        width=raw.width,
        access=_ACCESS_NAMES.get(raw.access, "access"),
        buffer=f"`{name}`" if name else "every buffer",
        place=_place(raw, buffer, index),
        thread=raw.thread,
        block=raw.block,
        other_thread="another warp" if other is None or other.thread is None else f"thread {other.thread}",
        other_block=other.block if other else "?",
        other_access=other.access if other else "?",
        elsewhere=_elsewhere(raw, other),
        waits="; ".join(_wait_text(group) for group in waits),
        cause=_SIGNAL_CAUSES.get(raw.detail, "a host fault"),
        complaint=_complaint(kind, raw),
    )
    return Finding(
        kind=kind,
        message=message + _where(raw, line_map, other),
        line=raw.line,
        kernel_line=line_map.get(raw.line),
        block=raw.block,
        thread=raw.thread,
        count=raw.count,
        buffer=name,
        byte_offset=raw.byte_offset if has_place else None,
        index=index,
        width=raw.width or None,
        access=_ACCESS_NAMES.get(raw.access) if raw.width else None,
        other=other,
        waits=waits if kind is FindingKind.DEADLOCK else (),
    )


def _complaint(kind: FindingKind, raw: FindingStruct) -> str:
    if kind not in _COMPLAINING:
        return ""
    return COMPLAINTS[raw.detail].format(a=raw.values[0], b=raw.values[1])


def _buffer_of(raw: FindingStruct, buffers: Sequence[Buffer]) -> Buffer | None:
    return None if raw.space_index in (NO_BUFFER, SHARED_MEMORY) else buffers[raw.space_index]


def _other(raw: FindingStruct, kind: FindingKind, line_map: Mapping[int, int]) -> OtherAccess | None:
    if raw.other_thread < 0 and raw.other_block < 0:
        return None
    race = kind in (FindingKind.RACE_BLOCKS, FindingKind.RACE_THREADS, FindingKind.MISSING_FENCE)
    return OtherAccess(
        block=raw.other_block if raw.other_block >= 0 else raw.block,
        thread=raw.other_thread if raw.other_thread >= 0 else None,
        access=_ACCESS_NAMES.get(raw.other_access, "access") if race else "none",
        line=raw.other_line,
        kernel_line=line_map.get(raw.other_line),
    )


def _index(buffer: Buffer, byte_offset: int) -> tuple[int, ...] | None:
    """Return the element that `byte_offset` lies in, None if it lies in none."""
    if not 0 <= byte_offset < buffer.span_bytes:
        return None
    array, rest = buffer.array, byte_offset
    index = [0] * array.ndim
    for axis in sorted(range(array.ndim), key=lambda axis: -array.strides[axis]):
        stride = array.strides[axis]
        if stride == 0:
            continue
        index[axis] = min(rest // stride, array.shape[axis] - 1)
        rest -= index[axis] * stride
    return tuple(index) if rest < array.itemsize else None


def _place(raw: FindingStruct, buffer: Buffer | None, index: tuple[int, ...] | None) -> str:
    if raw.space_index == NO_BUFFER:
        return f"address {raw.byte_offset:#x}"
    if buffer is None:
        return f"byte {raw.byte_offset}"
    if index is not None:
        return f"element [{', '.join(map(str, index))}] (byte {raw.byte_offset})"
    element = raw.byte_offset // buffer.array.itemsize
    extents = " x ".join(map(str, buffer.array.shape))
    return f"flat element {element} (byte {raw.byte_offset}; shape {extents or 'scalar'}, {buffer.span_bytes} bytes)"


def _elsewhere(raw: FindingStruct, other: OtherAccess | None) -> str:
    if other is None:
        return ""
    if raw.other_line:
        return f", thread {other.thread} waits elsewhere"
    return f", thread {other.thread} has returned"


def _where(raw: FindingStruct, line_map: Mapping[int, int], other: OtherAccess | None) -> str:
    def name(line: int) -> str:
        kernel_line = line_map.get(line)
        return f"line {line}" if kernel_line is None else f"kernel line {kernel_line} (.cu line {line})"

    if not raw.line:
        return ""
    text = f"; {name(raw.line)}"
    if other is not None and raw.other_line:
        text += f" and {name(raw.other_line)}"
    return text


def _group_waits(raw: Sequence[WaitStruct], line_map: Mapping[int, int]) -> tuple[WaitGroup, ...]:
    groups: dict[tuple[int, str, int, int | None, BarrierState | None], list[int]] = {}
    for wait in raw:
        mask = wait.mask if wait.wait == _WAIT_COLLECTIVE else None
        key = (wait.block, _operation_name(wait), wait.line, mask, _barrier_state(wait))
        groups.setdefault(key, []).append(wait.thread)
    return tuple(
        WaitGroup(tuple(threads), operation, line, line_map.get(line), mask, block, barrier)
        for (block, operation, line, mask, barrier), threads in groups.items()
    )


def _operation_name(wait: WaitStruct) -> str:
    match wait.wait:
        case 1:
            return _BARRIERS[wait.operation]
        case 2 if wait.operation < _FIRST_WARP_INSTRUCTION:
            return _COLLECTIVES[wait.operation]
        case 2:
            return _INSTRUCTIONS[wait.operation - _FIRST_WARP_INSTRUCTION]
        case 4:
            return "ak_mbarrier_try_wait" if wait.operation else "ak_mbarrier_wait"
        case 5:
            return "ak_bar_sync"
        case 6:
            return "ak_cluster_wait"
        case _:
            return _INSTRUCTIONS[wait.operation]


def _barrier_state(wait: WaitStruct) -> BarrierState | None:
    if wait.wait not in (_WAIT_MBARRIER, _WAIT_NAMED, _WAIT_CLUSTER, _WAIT_REGISTERS):
        return None
    return BarrierState(wait.barrier_offset, wait.parity, wait.phase, wait.missing, wait.count, wait.pending_bytes)


def _wait_text(group: WaitGroup) -> str:
    mask = "" if group.mask is None else f" with mask {group.mask:#010x}"
    line = group.line if group.kernel_line is None else group.kernel_line
    block = "" if group.block == 0 else f" of block {group.block}"
    state = "" if group.barrier is None else f" {_state_text(group.operation, group.barrier)}"
    return f"threads {_ranges(group.threads)}{block} wait in `{group.operation}`{mask} at line {line}{state}"


def _state_text(operation: str, state: BarrierState) -> str:
    match operation:
        case "ak_bar_sync":
            return f"at barrier {state.name} ({state.missing} of {state.count} threads missing)"
        case "ak_cluster_wait":
            return f"({state.missing} of {state.count} threads missing)"
        case "ak_setmaxnreg_inc":
            return f"(for {state.count} registers a thread; {state.missing} are free)"
        case _:
            return (
                f"for parity {state.parity} of the mbarrier at byte {state.name} (phase {state.phase},"
                f" {state.missing} of {state.count} arrivals missing, {state.pending_bytes} bytes pending)"
            )


def _ranges(numbers: Sequence[int]) -> str:
    """Return `0-31, 40` for ascending numbers."""
    array = np.asarray(numbers)
    runs = np.split(array, np.flatnonzero(np.diff(array) != 1) + 1)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
