"""Runs of `ldmatrix` and `stmatrix`: rows of 16 bytes anywhere in shared memory, every lane's registers compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from tests.gpu.instruction_case import Case, Kernel, as_bytes, words_of
from tests.gpu.product_cases import fragment_words

ROWS = 40
ROW_BYTES = 16


def load_kernel(row: Instruction) -> Kernel:
    """Words in: a lane's row in shared memory, then shared memory."""
    body = f"""
for (int i = t; i < {ROWS * 4}; i += 32) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + 32 + i));
__syncthreads();
unsigned int r[{row.number}];
{row.name}(r, ak_smem + {ROW_BYTES} * ak_ldg_u32(in + t));
for (int i = 0; i < {row.number}; ++i) ak_st_u32(out + i * 32 + t, r[i]);
"""
    return Kernel(f"t_{row.name}", body, shared_bytes=ROWS * ROW_BYTES)


def store_kernel(row: Instruction) -> Kernel:
    """Words in: a lane's row in shared memory, shared memory, registers."""
    body = f"""
for (int i = t; i < {ROWS * 4}; i += 32) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + 32 + i));
__syncthreads();
unsigned int r[{row.number}];
for (int i = 0; i < {row.number}; ++i) r[i] = ak_ldg_u32(in + {32 + ROWS * 4} + i * 32 + t);
{row.name}(ak_smem + {ROW_BYTES} * ak_ldg_u32(in + t), r);
__syncthreads();
for (int i = t; i < {ROWS * 4}; i += 32) ak_st_u32(out + i, ak_lds_u32(ak_smem + 4 * i));
"""
    return Kernel(f"t_{row.name}", body, shared_bytes=ROWS * ROW_BYTES)


def matrix_move_cases() -> Iterator[Case]:
    """Every row; lanes name their rows in no order."""
    for name in instruction_names():
        row = find_instruction(name)
        if row is None or row.family not in ("ldmatrix", "stmatrix"):
            continue
        assert row.data is not None and row.number is not None
        random = np.random.default_rng(len(name))
        places = random.permutation(ROWS)[:32]
        memory = random.integers(0, 1 << 16, (ROWS, 8)).astype(np.uint16)
        matrices = memory[places[: 8 * row.number]].reshape(row.number, 8, 8)
        if row.family == "ldmatrix":
            words = words_of(places.astype(np.uint32), memory)
            yield Case(name, "rows", load_kernel(row), words, as_bytes(fragment_words(row.data, matrices, 32)))
            continue
        stored = random.integers(0, 1 << 16, matrices.shape).astype(np.uint16)
        words = words_of(places.astype(np.uint32), memory, fragment_words(row.data, stored, 32))
        after = memory.copy()
        after[places[: 8 * row.number]] = stored.reshape(-1, 8)
        yield Case(name, "rows", store_kernel(row), words, as_bytes(after))
