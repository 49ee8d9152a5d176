"""Types of the GPU stage: what one thread sees. Scalars are tiles of rank 0. Data only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentkern.dsl.dtypes import DTYPES, DType

Space = Literal["global", "shared"]


@dataclass(frozen=True, slots=True)
class RegisterArray:
    """`count` elements of one thread, changed in place; every index is known once loops are unrolled."""

    dtype: DType
    count: int

    def __str__(self) -> str:
        return f"reg<{self.dtype.name}, {self.count}>"


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address of elements in global or shared memory. `readonly` memory is written by nobody while the kernel runs."""

    dtype: DType
    space: Space = "global"
    readonly: bool = False

    def __str__(self) -> str:
        return f"ptr<{self.dtype.name}, {self.space}, {'readonly' if self.readonly else 'written'}>"


def _reg(pieces: list[str]) -> RegisterArray:
    return RegisterArray(DTYPES[pieces[0]], int(pieces[1]))


def _ptr(pieces: list[str]) -> Pointer:
    space: Space = "shared" if pieces[1] == "shared" else "global"
    return Pointer(DTYPES[pieces[0]], space, pieces[2] == "readonly")


GPU_TYPE_READERS: dict[str, Callable[[list[str]], object]] = {"reg": _reg, "ptr": _ptr}
