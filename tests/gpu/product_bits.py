"""Runs of products over adversarial inputs, with the bits that the probes' model gives.

The model (evals/probes/product_model.h) is C++ for the host, fitted and confirmed on a GPU; integers are exact here.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.ir.reference_formats import STORAGE
from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_matrix import FP8, INTEGERS
from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from agentkern.runtime.simulator.toolchain import host_compiler
from tests.gpu.instruction_case import Case
from tests.gpu.product_cases import Product, mma_case, wgmma_case

SOURCE = Path(__file__).with_name("product_model.cpp")
FORMATS = {"bf16": 0, "f16": 1, "tf32": 2, "e4m3": 3, "e5m2": 4, "i8": 5, "u8": 5}
TILE_ROWS, TILE_COLUMNS, STEP_BYTES = 64, 8, 32
RUNS_A_ROW = 3


class ProductModel:
    """The model, compiled for this machine."""

    def __init__(self, folder: Path) -> None:
        library = folder / "product_model.so"
        command = [
            *host_compiler().command,
            "-O2",
            "-std=c++17",
            "-w",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(SOURCE),
        ]
        subprocess.run(command, check=True, capture_output=True)
        self.library = ctypes.CDLL(str(library))
        self.library.name_of_category.restype = ctypes.c_char_p
        self.n_categories = self.library.n_categories()

    def operands(
        self, dtype: str, category: int, index: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint32]]:
        """Rows of a, columns of b, and an accumulator, of one tile."""
        a = np.zeros((TILE_ROWS, STEP_BYTES), np.uint8)
        b = np.zeros((TILE_COLUMNS, STEP_BYTES), np.uint8)
        c = np.zeros((TILE_ROWS, TILE_COLUMNS), np.uint32)
        self.library.make_operands(FORMATS[dtype], category, index, *map(pointer, (a, b, c)))
        return a, b, c

    def product(self, row: Instruction, category: int, index: int, *, adds: bool) -> Product:
        """A product of a row's shape with inputs of a category."""
        a_type, b_type = row.operand("a").dtype, row.operand("b").dtype
        assert row.shape_mnk is not None
        m, n, _ = row.shape_mnk
        tiles = [self.operands(b_type, category, 100 * index + j) for j in range(n // TILE_COLUMNS)]
        a = self.operands(a_type, category, index)[0][:m].copy()
        b = np.concatenate([tile[1] for tile in tiles])
        c = np.concatenate([tile[2][:m] for tile in tiles], axis=1)
        stored_a, stored_b = a.view(STORAGE[a_type]), np.ascontiguousarray(b.view(STORAGE[b_type]).T)
        d = self.result(row, a, b, c, adds=adds)
        label = f"{self.library.name_of_category(category).decode()}{'' if adds else ', no accumulator'}"
        return Product(label, stored_a, stored_b, c, d, adds)

    def result(
        self,
        row: Instruction,
        a: NDArray[np.uint8],
        b: NDArray[np.uint8],
        c: NDArray[np.uint32],
        *,
        adds: bool,
    ) -> NDArray[np.uint32]:
        """Bits of the result for rows of a and columns of b as bytes."""
        a_type, b_type = row.operand("a").dtype, row.operand("b").dtype
        shape, arrays = c.shape, (a, b, c, d := np.zeros_like(c))
        formats = FORMATS[a_type], FORMATS[b_type]
        if a_type in INTEGERS:
            products = a.view(STORAGE[a_type]).astype(np.int64) @ b.view(STORAGE[b_type]).astype(np.int64).T
            return ((products + (c.astype(np.int64) if adds else 0)) & 0xFFFFFFFF).astype(np.uint32)
        if a_type in FP8 and row.family == "mma":
            self.library.step_of_warp_on_small_floats(*formats, *shape, *map(pointer, arrays))
        else:
            self.library.step(*formats, *shape, int(adds), *map(pointer, arrays))
        return d

    def cases(self, row: Instruction, number: int) -> Iterator[Case]:
        """A few categories for row `number`; the next row takes the next ones."""
        for i in range(RUNS_A_ROW):
            category = (RUNS_A_ROW * number + i) % self.n_categories
            if row.family == "mma":
                yield mma_case(row, self.product(row, category, number, adds=True))
            else:
                width = list(SWIZZLES)[(number + i) % len(SWIZZLES)]
                yield wgmma_case(row, self.product(row, category, number, adds=(number + i) % 4 != 0), width)


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """Where an array's elements begin."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
