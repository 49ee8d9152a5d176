"""Rows of asynchronous copies: `cp.async`, bulk copies, and tensor copies through tensor maps."""

from __future__ import annotations

from agentkern.compiler.targets.instructions import Instruction, Parameter, address, scalar, target_address

MAX_DIMENSIONS = 5
"""Dimensions of a tensor map. Source: PTX ISA, Tensor Dimension, size and format."""

COORDINATE_BYTES = 16
"""What divides the innermost coordinate of a tensor copy, in bytes: the box begins at a multiple of it.

Any other coordinate ends as an illegal instruction, under every swizzle, for loads and stores. Measured on an H200 with
elements of 16 bits (2026-11-29); other widths are held to the same.
"""

CP_ASYNC_BYTES: dict[int, str] = {4: "ca", 8: "ca", 16: "cg"}
"""Widths and their cache operator: `.cg` keeps the line out of L1 and exists for 16 bytes only."""


def _cp_async(n_bytes: int, *, zero_fill: bool) -> Instruction:
    count = (scalar("src_bytes", "u32"),) if zero_fill else ()
    read = ", $src_bytes" if zero_fill else ""
    note = f"start a copy of {n_bytes} bytes to shared memory"
    return Instruction(
        name=f"ak_cp_async_{n_bytes}{'_zfill' if zero_fill else ''}",
        family="cp_async",
        ptx=f"cp.async.{CP_ASYNC_BYTES[n_bytes]}.shared.global [$dst], [$src], {n_bytes}{read};",
        parameters=(target_address("dst", "shared"), address("src", "global"), *count),
        source="PTX ISA: cp.async",
        note=f"{note}: the first src_bytes are read, the rest are zero" if zero_fill else note,
        number=n_bytes,
        completion="cp.async group",
    )


def _cp_async_order(name: str, ptx: str, note: str, section: str, number: int | None = None) -> Instruction:
    return Instruction(
        name=name,
        family="cp_async",
        ptx=ptx,
        parameters=(),
        source=f"PTX ISA: {section}",
        note=note,
        number=number,
    )


def cp_async_rows() -> tuple[Instruction, ...]:
    """Rows of `cp.async`, its groups, and its arrival at an mbarrier."""
    forms = [(n, fill) for n in CP_ASYNC_BYTES for fill in (False, True)]
    arrive = Instruction(
        name="ak_cp_async_mbarrier_arrive",
        family="cp_async",
        ptx="cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$bar];",
        parameters=(address("bar", "shared"),),
        source="PTX ISA: cp.async.mbarrier.arrive",
        note="one arrival, counted among those the barrier expects, once this thread's copies so far have landed",
        completion="mbarrier",
    )
    waits = (
        _cp_async_order(
            f"ak_cp_async_wait_{n}",
            f"cp.async.wait_group {n};",
            f"wait until at most {n} groups of this thread's copies run",
            "cp.async.wait_group",
            n,
        )
        for n in range(8)
    )
    return (
        *(_cp_async(n, zero_fill=fill) for n, fill in forms),
        _cp_async_order(
            "ak_cp_async_commit",
            "cp.async.commit_group;",
            "close a group of this thread's copies",
            "cp.async.commit_group",
        ),
        *waits,
        arrive,
    )


def _coordinates(dimensions: int) -> tuple[tuple[Parameter, ...], str]:
    """Parameters c0 (innermost) onwards and how PTX lists them."""
    parameters = tuple(scalar(f"c{i}", "i32") for i in range(dimensions))
    return parameters, "{" + ", ".join(f"${p.name}" for p in parameters) + "}"


_TENSOR_SOURCE = "PTX ISA: cp.async.bulk.tensor; coordinates measured on an H200, 2026-11-29"
_INNERMOST = f"c0 is a multiple of {COORDINATE_BYTES} bytes (else an illegal instruction)"


def _tensor_load(dimensions: int, *, multicast: bool) -> Instruction:
    parameters, listed = _coordinates(dimensions)
    mask = (scalar("cta_mask", "u16"),) if multicast else ()
    form, masked = (".multicast::cluster", ", $cta_mask") if multicast else ("", "")
    where = "the same place of every block of the mask" if multicast else "shared memory"
    return Instruction(
        name=f"ak_tma_load_{dimensions}d{'_multicast' if multicast else ''}",
        family="tensor_copy",
        ptx=f"cp.async.bulk.tensor.{dimensions}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        f"{form} [$dst], [$map, {listed}], [$bar]{masked};",
        parameters=(
            target_address("dst", "shared"),
            address("map", "tensor_map"),
            address("bar", "shared"),
            *mask,
            *parameters,
        ),
        source=_TENSOR_SOURCE,
        note=f"start the copy of a box to {where}; its bytes, also those outside the tensor, count at the barrier; the"
        f" box may begin before the tensor; {_INNERMOST}",
        min_target=90,
        number=dimensions,
        completion="mbarrier",
        is_async_proxy=True,
    )


def _tensor_store(dimensions: int) -> Instruction:
    parameters, listed = _coordinates(dimensions)
    return Instruction(
        name=f"ak_tma_store_{dimensions}d",
        family="tensor_copy",
        ptx=f"cp.async.bulk.tensor.{dimensions}d.global.shared::cta.tile.bulk_group [$map, {listed}], [$src];",
        parameters=(address("map", "tensor_map"), address("src", "shared"), *parameters),
        source=_TENSOR_SOURCE,
        note="start the copy of a box from shared memory; elements past the tensor's extents are not written; no"
        f" coordinate is negative (else an illegal instruction); {_INNERMOST}",
        min_target=90,
        number=dimensions,
        completion="bulk group",
        is_async_proxy=True,
    )


def tensor_copy_rows() -> tuple[Instruction, ...]:
    """Rows of copies through tensor maps."""
    dimensions = range(1, MAX_DIMENSIONS + 1)
    prefetch = Instruction(
        name="ak_tma_prefetch",
        family="tensor_copy",
        ptx="prefetch.tensormap [$map];",
        parameters=(address("map", "tensor_map"),),
        source="PTX ISA: prefetch",
        note="fetch a tensor map ahead of its first use",
        min_target=90,
    )
    return (
        *(_tensor_load(n, multicast=False) for n in dimensions),
        *(_tensor_load(n, multicast=True) for n in dimensions),
        *(_tensor_store(n) for n in dimensions),
        prefetch,
    )


def _bulk_wait(number: int, *, read: bool) -> Instruction:
    what = "still read their source" if read else "run"
    return Instruction(
        name=f"ak_bulk_wait{'_read' if read else ''}_{number}",
        family="bulk_copy",
        ptx=f"cp.async.bulk.wait_group{'.read' if read else ''} {number};",
        parameters=(),
        source="PTX ISA: cp.async.bulk.wait_group",
        note=f"wait until at most {number} groups of this thread's bulk stores {what}",
        min_target=90,
        number=number,
    )


def bulk_copy_rows() -> tuple[Instruction, ...]:
    """Rows of bulk copies of contiguous bytes and of the groups that they share with tensor stores."""
    source = "PTX ISA: cp.async.bulk"
    load = Instruction(
        name="ak_bulk_load",
        family="bulk_copy",
        ptx="cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$dst], [$src], $bytes, [$bar];",
        parameters=(
            target_address("dst", "shared"),
            address("src", "global"),
            scalar("bytes", "u32"),
            address("bar", "shared"),
        ),
        source=source,
        note="start a copy to shared memory; addresses and bytes are multiples of 16",
        min_target=90,
        completion="mbarrier",
        is_async_proxy=True,
    )
    store = Instruction(
        name="ak_bulk_store",
        family="bulk_copy",
        ptx="cp.async.bulk.global.shared::cta.bulk_group [$dst_global], [$src], $bytes;",
        parameters=(target_address("dst_global", "global"), address("src", "shared"), scalar("bytes", "u32")),
        source=source,
        note="start a copy from shared memory; addresses and bytes are multiples of 16",
        min_target=90,
        completion="bulk group",
        is_async_proxy=True,
    )
    commit = Instruction(
        name="ak_bulk_commit",
        family="bulk_copy",
        ptx="cp.async.bulk.commit_group;",
        parameters=(),
        source="PTX ISA: cp.async.bulk.commit_group",
        note="close a group of this thread's bulk stores",
        min_target=90,
    )
    return (load, store, commit, *(_bulk_wait(n, read=read) for read in (False, True) for n in range(8)))
