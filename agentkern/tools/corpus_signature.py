"""Signatures to search by: the tensors of a kernel, and how alike two lists of tensors are. Pure.

A signature is text such as `In[bf16, T, H] -> Out[e4m3, T, H]`, or a whole kernel: what counts are its tensors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.types import TensorType
from agentkern.dsl.dtypes import DTYPES

_TENSOR = re.compile(r"\b(InOut|In|Out)\[\s*(?:\w+\.)?(\w+)\s*((?:,[^\[\]]*)?)\]")
_ACCESS = {"In": "in", "Out": "out", "InOut": "inout"}
_ANY_DTYPE = frozenset({"any", "dtype", "_"})
# How other libraries call dtypes.
_SPELLED = {
    "float16": "f16", "half": "f16", "fp16": "f16", "bfloat16": "bf16", "float32": "f32", "fp32": "f32", "float": "f32",
    "float64": "f64", "fp8": "e4m3", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip

# What a tensor that agrees in one respect is worth, of 1 in all; access must agree in any case.
_DTYPE, _RANK, _SHAPE = 0.5, 0.3, 0.2


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter: access, dtype (None: any), and its extents as texts."""

    access: str
    dtype: str | None
    shape: tuple[str, ...]


def tensors_of(kernel: Kernel) -> tuple[Tensor, ...]:
    """Return the tensors that a caller passes."""
    types = [param.type for param in kernel.params]
    return tuple(
        Tensor(type_.access, type_.dtype.name, tuple(map(str, type_.shape)))
        for type_ in types
        if isinstance(type_, TensorType) and type_.access != "scratch"
    )


def tensors_in(text: str) -> tuple[Tensor, ...]:
    """Return the tensors that a signature or a kernel's text names; none where there is no `In[...]` and the like.

    Errors: ValueError naming a dtype that does not exist.
    """
    found: list[Tensor] = []
    for access, spelled, extents in _TENSOR.findall(text):
        dtype = _SPELLED[spelled] if spelled in _SPELLED else str(spelled)
        if dtype not in DTYPES and dtype.lower() not in _ANY_DTYPE:
            raise ValueError(f"there is no dtype `{dtype}`; a tensor is written `In[bf16, T, H]`")
        shape = tuple(part.strip() for part in extents.split(",") if part.strip())
        found.append(Tensor(_ACCESS[access], dtype if dtype in DTYPES else None, shape))
    return tuple(found)


def likeness(asked: Sequence[Tensor], has: Sequence[Tensor]) -> float:
    """Return how alike two signatures are, 0 to 1: tensors matched best first, those left over count as misses."""
    names = (_numbered(asked), _numbered(has))
    scored = sorted(
        ((_alike(a, b, names[0][i], names[1][k]), i, k) for i, a in enumerate(asked) for k, b in enumerate(has)),
        key=lambda row: (-row[0], row[1], row[2]),
    )
    taken: tuple[set[int], set[int]] = (set(), set())
    total = 0.0
    for score, i, k in scored:
        if i not in taken[0] and k not in taken[1]:
            total += score
            taken[0].add(i)
            taken[1].add(k)
    return 2 * total / (len(asked) + len(has)) if asked or has else 0.0


def _numbered(tensors: Sequence[Tensor]) -> list[tuple[str, ...]]:
    """Each tensor's extents with sizes numbered by first appearance: their names do not matter."""
    number: dict[str, str] = {}
    shapes: list[tuple[str, ...]] = []
    for tensor in tensors:
        plain = [re.sub(r"[A-Za-z_]\w*", lambda m: number.setdefault(m[0], f"s{len(number)}"), e) for e in tensor.shape]
        shapes.append(tuple(plain))
    return shapes


def _alike(a: Tensor, b: Tensor, shape_a: tuple[str, ...], shape_b: tuple[str, ...]) -> float:
    if a.access != b.access and "inout" not in (a.access, b.access):
        return 0.0
    score = _DTYPE * _alike_dtypes(a.dtype, b.dtype)
    score += _RANK * (len(shape_a) == len(shape_b)) + _SHAPE * (shape_a == shape_b)
    return score * (1.0 if a.access == b.access else 0.5)


def _alike_dtypes(a: str | None, b: str | None) -> float:
    if a is None or b is None or a == b:
        return 1.0
    one, other = DTYPES[a], DTYPES[b]
    if one.kind != other.kind:
        return 0.0
    return 0.6 if one.bits == other.bits else 0.3
