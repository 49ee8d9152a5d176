"""Give buffers simulated device addresses.

Every stretch of host memory gets an address range of its own, 2^40 bytes from the next, so that a pointer that runs
out of its buffer can never reach another one, and a host dereference of a device pointer always faults. Buffers that
overlap on the host share a range. Addresses depend on the buffers' order only, not on the host's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkern.runtime.simulator.binding import MAX_DIMS, RegionStruct, WindowStruct
from agentkern.runtime.simulator.records import Buffer

DEVICE_BASE = 1 << 62
_REGION_SHIFT = 40
_MIDDLE = 1 << 39  # the base lies in the middle of its range: offsets of both signs stay inside it
_KEPT_ALIGNMENT = 16  # the widest access; a host address is taken as it is modulo this


@dataclass(frozen=True, slots=True)
class AddressMap:
    """Regions and windows for the engine; `addresses` and `window_of` are by the position of the buffer given."""

    regions: ctypes.Array[RegionStruct]
    windows: ctypes.Array[WindowStruct]
    window_buffers: tuple[Buffer, ...]
    addresses: tuple[int, ...]


def map_buffers(buffers: Sequence[Buffer]) -> AddressMap:
    """Lay `buffers` out in device memory."""
    hosts = [buffer.array.ctypes.data for buffer in buffers]
    groups = _overlapping(hosts, [buffer.span_bytes for buffer in buffers])
    regions = (RegionStruct * max(len(groups), 1))()
    windows = (WindowStruct * max(len(buffers), 1))()
    addresses = [0] * len(buffers)
    window_buffers: list[Buffer] = []
    for number, group in enumerate(groups):
        start = min(hosts[i] for i in group)
        end = max(hosts[i] + buffers[i].span_bytes for i in group)
        device = (DEVICE_BASE | (number + 1) << _REGION_SHIFT) + _MIDDLE + start % _KEPT_ALIGNMENT
        regions[number] = RegionStruct(device, start, end - start, len(window_buffers), len(group))
        for i in group:
            windows[len(window_buffers)] = _window(buffers[i], hosts[i] - start)
            window_buffers.append(buffers[i])
            addresses[i] = device + hosts[i] - start
    return AddressMap(regions, windows, tuple(window_buffers), tuple(addresses))


def _overlapping(hosts: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Group the positions whose byte ranges overlap, directly or through others, in order of first position."""
    groups: list[list[int]] = []
    end = -1
    for i in sorted((i for i in range(len(hosts)) if sizes[i]), key=lambda i: (hosts[i], i)):
        if groups and hosts[i] < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, hosts[i] + sizes[i])
    groups += [[i] for i in range(len(hosts)) if not sizes[i]]
    return sorted((sorted(group) for group in groups), key=lambda group: group[0])


def _window(buffer: Buffer, offset: int) -> WindowStruct:
    window = WindowStruct(offset=offset, bytes=buffer.span_bytes, writable=buffer.writable)
    if buffer.initialised_bits is not None:
        window.initialised_bits = buffer.initialised_bits.ctypes.data
    rows = _strided_rows(buffer.array)
    if rows is not None:
        strides, extents, window.run_bytes = rows
        window.n_dims = len(strides)
        window.strides[: len(strides)] = strides
        window.extents[: len(strides)] = extents
    return window


def _strided_rows(array: np.ndarray) -> tuple[list[int], list[int], int] | None:
    """Return the outer strides and extents, largest stride first, and the bytes of a contiguous run.

    None if all bytes of the span belong to elements, or if the strides do not nest (overlapping elements), where the
    whole span counts as addressable.
    """
    axes = sorted(
        ((stride, extent) for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1),
        reverse=True,
    )
    run_bytes = array.itemsize
    while axes and axes[-1][0] <= run_bytes:
        stride, extent = axes.pop()
        run_bytes = stride * (extent - 1) + run_bytes
    if not axes or len(axes) > MAX_DIMS:
        return None
    inner_span = run_bytes
    for stride, extent in reversed(axes):
        if stride < inner_span:
            return None
        inner_span = stride * (extent - 1) + inner_span
    return [stride for stride, _ in axes], [extent for _, extent in axes], run_bytes
