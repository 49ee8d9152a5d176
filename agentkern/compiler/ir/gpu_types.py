"""Types of the GPU stage: what one thread sees. Scalars are tiles of rank 0. Data only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
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
    """An address of elements in global or shared memory. Nobody writes `readonly` memory while the kernel runs."""

    dtype: DType
    space: Space = "global"
    readonly: bool = False

    def __str__(self) -> str:
        return f"ptr<{self.dtype.name}, {self.space}, {'readonly' if self.readonly else 'written'}>"


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor's map for the copy engine: boxes of `box` elements (row-major), `swizzle` bytes wide in shared."""

    dtype: DType
    box: tuple[int, ...]
    swizzle: int

    @property
    def nbytes(self) -> int:
        """Bytes that one copy moves."""
        return prod(self.box) * self.dtype.nbytes

    def __str__(self) -> str:
        return f"tmap<{self.dtype.name}, [{', '.join(map(str, self.box))}], {self.swizzle}>"


@dataclass(frozen=True, slots=True)
class Mbarriers:
    """`count` barriers in shared memory, each complete after `arrivals` arrivals and the bytes expected."""

    count: int
    arrivals: int

    def __str__(self) -> str:
        return f"mbar<{self.count}, {self.arrivals}>"


TokenKind = Literal["product", "copy"]


@dataclass(frozen=True, slots=True)
class Token:
    """Asynchronous work that was committed and must be waited for."""

    kind: TokenKind

    def __str__(self) -> str:
        return f"token<{self.kind}>"


def _tmap(pieces: list[str]) -> TensorMap:
    return TensorMap(DTYPES[pieces[0]], tuple(int(n) for n in pieces[1][1:-1].split(",")), int(pieces[2]))


def _mbar(pieces: list[str]) -> Mbarriers:
    return Mbarriers(int(pieces[0]), int(pieces[1]))


def _token(pieces: list[str]) -> Token:
    return Token("product" if pieces[0] == "product" else "copy")


def _reg(pieces: list[str]) -> RegisterArray:
    return RegisterArray(DTYPES[pieces[0]], int(pieces[1]))


def _ptr(pieces: list[str]) -> Pointer:
    space: Space = "shared" if pieces[1] == "shared" else "global"
    return Pointer(DTYPES[pieces[0]], space, pieces[2] == "readonly")


GPU_TYPE_READERS: dict[str, Callable[[list[str]], object]] = {
    "reg": _reg,
    "ptr": _ptr,
    "tmap": _tmap,
    "mbar": _mbar,
    "token": _token,
}
