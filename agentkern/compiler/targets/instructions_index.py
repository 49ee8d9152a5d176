"""Find instruction rows by name; families are built when a name of theirs is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_barriers import (
    cluster_rows,
    election_rows,
    fence_rows,
    mbarrier_rows,
    named_barrier_rows,
    register_rows,
)
from agentkern.compiler.targets.instructions_copies import bulk_copy_rows, cp_async_rows, tensor_copy_rows
from agentkern.compiler.targets.instructions_matrix import matrix_move_rows, mma_rows
from agentkern.compiler.targets.instructions_wgmma import find_wgmma, wgmma_names, wgmma_order_rows

_GROUPS: tuple[tuple[tuple[str, ...], Callable[[], tuple[Instruction, ...]]], ...] = (
    (("ak_mma_",), mma_rows),
    (("ak_ldmatrix_", "ak_stmatrix_"), matrix_move_rows),
    (("ak_wgmma_",), wgmma_order_rows),
    (("ak_cp_async_",), cp_async_rows),
    (("ak_tma_",), tensor_copy_rows),
    (("ak_bulk_",), bulk_copy_rows),
    (("ak_mbarrier_",), mbarrier_rows),
    (("ak_bar_",), named_barrier_rows),
    (("ak_fence_",), fence_rows),
    (("ak_cluster_", "ak_mapa", "ak_lds_cluster_", "ak_sts_cluster_"), cluster_rows),
    (("ak_elect_",), election_rows),
    (("ak_setmaxnreg_",), register_rows),
)


@lru_cache(maxsize=len(_GROUPS))
def _group(number: int) -> dict[str, Instruction]:
    return {row.name: row for row in _GROUPS[number][1]()}


@lru_cache(maxsize=4096)
def find_instruction(name: str) -> Instruction | None:
    """The row of a prelude function; None if no instruction has that name."""
    if name.startswith("ak_wgmma_m64"):
        return find_wgmma(name)
    for number, (prefixes, _) in enumerate(_GROUPS):
        if name.startswith(prefixes):
            return _group(number).get(name)
    return None


def instruction_names() -> Iterator[str]:
    """Names of all rows, by family."""
    for number in range(len(_GROUPS)):
        yield from _group(number)
    yield from wgmma_names()
