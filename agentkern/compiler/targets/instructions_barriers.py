"""Rows of synchronisation: mbarriers, named barriers, fences, clusters, election, and the registers of a warp."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.targets.instructions import Instruction, address, registers, scalar, target_address

REGISTER_COUNTS: Mapping[str, tuple[int, ...]] = {"inc": tuple(range(24, 257, 8)), "dec": tuple(range(24, 249, 8))}
"""Registers that `setmaxnreg` may ask for, by direction. Source: PTX ISA, setmaxnreg.

`dec` ends at 248: a thread has at most 255 registers at launch, so none can keep 256, and the attempt is an illegal
instruction (measured on an H200, 2026-11-29).
"""

_BAR = address("bar", "shared")
_PARITY = scalar("parity", "u32")
_MBARRIER = "PTX ISA: "


def _mbarrier_wait(name: str, ptx: str, note: str, min_target: int) -> Instruction:
    return Instruction(
        name=name,
        family="mbarrier",
        ptx=f"{{\n.reg .pred p;\n{ptx} p, [$bar], $parity;\nselp.u32 $result, 1, 0, p;\n}}",
        parameters=(_BAR, _PARITY),
        source=f"{_MBARRIER}mbarrier.test_wait, mbarrier.try_wait",
        note=note,
        result="bool",
        min_target=min_target,
    )


def mbarrier_rows() -> tuple[Instruction, ...]:
    """Rows of barriers in shared memory, 8 bytes each."""
    return _mbarrier_lifetime_rows() + _mbarrier_arrive_rows() + _mbarrier_wait_rows()


def _mbarrier_lifetime_rows() -> tuple[Instruction, ...]:
    return (
        Instruction(
            "ak_mbarrier_init",
            "mbarrier",
            "mbarrier.init.shared::cta.b64 [$bar], $count;",
            (_BAR, scalar("count", "u32")),
            f"{_MBARRIER}mbarrier.init",
            "start a barrier that expects `count` arrivals a phase",
        ),
        Instruction(
            "ak_mbarrier_invalidate",
            "mbarrier",
            "mbarrier.inval.shared::cta.b64 [$bar];",
            (_BAR,),
            f"{_MBARRIER}mbarrier.inval",
            "end a barrier, so that its bytes may serve for something else",
        ),
        Instruction(
            "ak_mbarrier_fence_init",
            "mbarrier",
            "fence.mbarrier_init.release.cluster;",
            (),
            "PTX ISA: membar, fence",
            "make barriers just started known to the cluster and to asynchronous copies",
            min_target=90,
        ),
    )


def _mbarrier_arrive_rows() -> tuple[Instruction, ...]:
    return (
        Instruction(
            "ak_mbarrier_arrive",
            "mbarrier",
            "mbarrier.arrive.shared::cta.b64 _, [$bar];",
            (_BAR,),
            f"{_MBARRIER}mbarrier.arrive",
            "one arrival; releases this thread's writes",
        ),
        Instruction(
            "ak_mbarrier_arrive_expect_tx",
            "mbarrier",
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$bar], $bytes;",
            (_BAR, scalar("bytes", "u32")),
            f"{_MBARRIER}mbarrier.arrive",
            "expect `bytes` more from asynchronous copies in this phase, then one arrival",
            min_target=90,
        ),
        Instruction(
            "ak_mbarrier_arrive_remote",
            "mbarrier",
            "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, $bar, $cta;\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}",
            (_BAR, scalar("cta", "u32")),
            f"{_MBARRIER}mbarrier.arrive; mapa",
            "one arrival at the same barrier of block `cta` of the cluster",
            min_target=90,
        ),
    )


def _mbarrier_wait_rows() -> tuple[Instruction, ...]:
    parity = "whether the phase of this parity has ended (a fresh barrier's phase has parity 0)"
    return (
        _mbarrier_wait("ak_mbarrier_test_wait", "mbarrier.test_wait.parity.shared::cta.b64", parity, 80),
        _mbarrier_wait(
            "ak_mbarrier_try_wait", "mbarrier.try_wait.parity.shared::cta.b64", f"{parity}; may sleep until it has", 90
        ),
        Instruction(
            "ak_mbarrier_wait",
            "mbarrier",
            "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$bar], $parity;\n@!p bra again;\n}",
            (_BAR, _PARITY),
            f"{_MBARRIER}mbarrier.test_wait, mbarrier.try_wait",
            "wait until the phase of this parity has ended (a fresh barrier's phase has parity 0)",
            min_target=90,
        ),
    )


def named_barrier_rows() -> tuple[Instruction, ...]:
    """Rows of the block's sixteen hardware barriers."""
    parameters = (scalar("id", "i32"), scalar("threads", "i32"))
    source = "PTX ISA: bar, barrier"
    return (
        Instruction(
            "ak_bar_sync",
            "named_barrier",
            "bar.sync $id, $threads;",
            parameters,
            source,
            "wait until `threads` threads (whole warps) have arrived at barrier `id`, 0 to 15",
            executors="warp",
        ),
        Instruction(
            "ak_bar_arrive",
            "named_barrier",
            "bar.arrive $id, $threads;",
            parameters,
            source,
            "arrive at barrier `id` and go on",
            executors="warp",
        ),
    )


def _fence(name: str, ptx: str, note: str) -> Instruction:
    return Instruction(name, "fence", ptx, (), "PTX ISA: membar, fence", note, min_target=90)


def fence_rows() -> tuple[Instruction, ...]:
    """Rows of fences between proxies and over a cluster."""
    return (
        _fence(
            "ak_fence_proxy_async",
            "fence.proxy.async.shared::cta;",
            "order this thread's ordinary accesses of shared memory and those of asynchronous units",
        ),
        _fence(
            "ak_fence_proxy_async_global",
            "fence.proxy.async.global;",
            "order this thread's ordinary accesses of global memory and those of asynchronous units",
        ),
        _fence("ak_fence_acq_rel_cluster", "fence.acq_rel.cluster;", "acquire and release over the cluster"),
    )


def cluster_rows() -> tuple[Instruction, ...]:
    """Rows of clusters of blocks."""
    barrier = "PTX ISA: barrier.cluster"
    return (
        Instruction(
            "ak_cluster_rank",
            "cluster",
            "mov.u32 $result, %cluster_ctarank;",
            (),
            "PTX ISA: Special Registers, %cluster_ctarank",
            "the block's number in its cluster",
            result="unsigned int",
            min_target=90,
            effect="value",
        ),
        Instruction(
            "ak_cluster_arrive",
            "cluster",
            "barrier.cluster.arrive.release.aligned;",
            (),
            barrier,
            "arrive at the cluster's barrier; releases this thread's writes",
            min_target=90,
            executors="warp",
        ),
        Instruction(
            "ak_cluster_wait",
            "cluster",
            "barrier.cluster.wait.acquire.aligned;",
            (),
            barrier,
            "wait until every thread of the cluster has arrived",
            min_target=90,
            executors="warp",
        ),
        Instruction(
            "ak_mapa",
            "cluster",
            "mapa.u64 $result, $p, $cta;",
            (address("p", "generic"), scalar("cta", "u32")),
            "PTX ISA: mapa",
            "the address of the same place in the shared memory of block `cta` of the cluster",
            result="void*",
            min_target=90,
            effect="value",
        ),
        *_remote_access_rows(),
    )


def _remote_access_rows() -> tuple[Instruction, ...]:
    """Loads and stores of any block's shared memory, at addresses that `ak_mapa` gives."""
    place, target = address("p", "shared"), target_address("p", "shared")
    load, store = "PTX ISA: ld; State Spaces, shared::cluster", "PTX ISA: st; State Spaces, shared::cluster"
    return (
        Instruction(
            "ak_lds_cluster_u32",
            "cluster",
            "ld.shared::cluster.u32 $result, [$p];",
            (place,),
            load,
            "load from the shared memory of a block of the cluster",
            result="unsigned int",
            min_target=90,
        ),
        Instruction(
            "ak_lds_cluster_x4",
            "cluster",
            "ld.shared::cluster.v4.u32 $r, [$p];",
            (registers("r", "written", "unsigned int", 4), place),
            load,
            "load 16 bytes from the shared memory of a block of the cluster",
            min_target=90,
        ),
        Instruction(
            "ak_sts_cluster_u32",
            "cluster",
            "st.shared::cluster.u32 [$p], $v;",
            (target, scalar("v", "u32")),
            store,
            "store to the shared memory of a block of the cluster",
            min_target=90,
        ),
        Instruction(
            "ak_sts_cluster_x4",
            "cluster",
            "st.shared::cluster.v4.u32 [$p], $r;",
            (target, registers("r", "read", "unsigned int", 4)),
            store,
            "store 16 bytes to the shared memory of a block of the cluster",
            min_target=90,
        ),
    )


def election_rows() -> tuple[Instruction, ...]:
    """The row that chooses one lane."""
    return (
        Instruction(
            "ak_elect_one",
            "election",
            "{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 $result, 1, 0, p;\n}",
            (),
            "PTX ISA: elect.sync",
            "true in one lane of the warp, the same each time",
            result="bool",
            min_target=90,
            executors="warp",
            effect="convergent",
        ),
    )


def register_rows() -> tuple[Instruction, ...]:
    """Rows that move registers between the warpgroups of a block."""
    return tuple(
        Instruction(
            f"ak_setmaxnreg_{direction}_{count}",
            "registers",
            f"setmaxnreg.{direction}.sync.aligned.u32 {count};",
            (),
            "PTX ISA: setmaxnreg",
            f"{what} {count} registers a thread of this warpgroup",
            min_target=90,
            only_targets=("sm_90a", "sm_100a"),
            number=count,
            executors="warpgroup",
        )
        for direction, what in (("inc", "wait for and take"), ("dec", "keep only"))
        for count in REGISTER_COUNTS[direction]
    )
