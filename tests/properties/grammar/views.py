"""Tensors that a view turns into what is read or written: turned, joined, parted, cut, with bits of another width."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.properties.grammar.scope import Draft

_WIDER = {
    "u8": ("i16", "f32", "bf16"),
    "i16": ("u32", "i64", "f32"),
    "u16": ("f32", "u64"),
    "bf16": ("u32", "f64"),
    "f16": ("i32", "u64"),
    "i32": ("i64", "f64"),
    "u32": ("u64",),
    "f32": ("f64", "i64"),
}
_NARROWER = {
    "i16": "u8",
    "u16": "i8",
    "bf16": "u8",
    "f16": "e4m3",
    "i32": "u16",
    "u32": "f16",
    "f32": "u8",
    "i64": "f32",
}
_BITS = {"u8": 8, "i16": 16, "u16": 16, "bf16": 16, "f16": 16}
Dims = list[str]
Made = tuple[str, Dims, str]
"""The element type and dims of what is viewed, and the view as text behind its name."""
SHARE = 0.12


def tensor_or_view(
    draft: Draft, letter: str, dtype: str, dims: Sequence[str], access: str = "In", promise: str = ""
) -> str:
    """Declare a tensor, one in eight a view of another; the text that has these dims."""
    if draft.rng.random() >= SHARE:
        return draft.tensor(letter, dtype, dims, access, promise)
    kind, stored, steps = viewed(draft, dtype, dims, cuts=access == "In")
    return draft.tensor(letter, kind, stored, access, promise) + steps


def viewed(draft: Draft, dtype: str, dims: Sequence[str], *, cuts: bool) -> Made:
    """What is stored for a view of this type and these dims; with `cuts` there may be more of it."""
    rng, steps = draft.rng, ""
    kind, now = dtype, list(dims)
    for _ in range(rng.choice((1, 1, 2))):
        found = rng.choice(_FORMS if cuts else _WHOLE)(draft, rng, kind, now)
        if found is not None:
            kind, now, text = found
            steps = text + steps
        if steps.startswith((".bitcast", ".reshape")):
            break  # its elements lie one behind another, which they do not behind most views
    return kind, now, steps


def _turned(_draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    if len(dims) < 2:
        return None
    if len(dims) == 2:
        return dtype, dims[::-1], ".T"
    order = list(range(len(dims)))
    rng.shuffle(order)
    stored = [""] * len(dims)
    for k, place in enumerate(order):
        stored[place] = dims[k]
    return dtype, stored, f".transpose({', '.join(map(str, order))})"


def _joined(_draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    """Two axes beside each other are stored as one."""
    if len(dims) < 2:
        return None
    k = rng.randrange(len(dims) - 1)
    both = " * ".join(_factor(dim) for dim in dims[k : k + 2])
    return dtype, [*dims[:k], both, *dims[k + 2 :]], f".reshape({', '.join(dims)})"


def _parted(draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    """One axis is stored as two."""
    known = [k for k, dim in enumerate(dims) if _number(draft, dim) > 1]
    if not known or len(dims) > 4:
        return None
    k = rng.choice(known)
    n = _number(draft, dims[k])
    d = rng.choice([d for d in (1, 2, 3, 4, 5, 8, 16, n) if n % d == 0])
    return dtype, [*dims[:k], str(n // d), str(d), *dims[k + 1 :]], f".reshape({', '.join(dims)})"


def _cut(draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    """More is stored than the view shows."""
    k = rng.randrange(len(dims))
    more = rng.choice((1, 2, 3))
    stored = [*dims[:k], f"{dims[k]} + {more}", *dims[k + 1 :]]
    parts = [":"] * len(dims)
    n = _number(draft, dims[k])
    if n >= 0 and rng.random() < 0.5:
        low = rng.randint(0, more)
        parts[k] = f"{low}:{n + low}"
    else:
        parts[k] = f"{more}:"
    return dtype, stored, f"[{', '.join(parts)}]"


def _one_of(_draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    """One place of an axis that the view has not."""
    if len(dims) > 3:
        return None
    k, n = rng.randrange(len(dims) + 1), rng.choice((1, 2, 3))
    parts = [":"] * len(dims)
    parts.insert(k, str(rng.randrange(n)))
    return dtype, [*dims[:k], str(n), *dims[k:]], f"[{', '.join(parts)}]"


def _regrouped(draft: Draft, rng: random.Random, dtype: str, dims: Dims) -> Made | None:
    """The last axis is stored in elements of another width."""
    if dtype in _NARROWER and rng.random() < 0.6:
        narrow = _NARROWER[dtype]
        widths = {"i64": 64, "f32": 32, "i32": 32, "u32": 32, "i16": 16, "u16": 16, "bf16": 16, "f16": 16}
        times = widths[dtype] // {"f32": 32, "u16": 16, "f16": 16}.get(narrow, 8)
        return narrow, [*dims[:-1], f"{times} * {_factor(dims[-1])}"], f".bitcast(ak.{dtype})"
    wide = rng.choice(_WIDER.get(dtype, ("",)))
    n = _number(draft, dims[-1])
    if not wide or n <= 0:
        return None
    bits = {"i16": 16, "bf16": 16, "u64": 64, "i64": 64, "f64": 64}.get(wide, 32)
    times = bits // _BITS.get(dtype, 32)
    return None if n % times else (wide, [*dims[:-1], str(n // times)], f".bitcast(ak.{dtype})")


_WHOLE: tuple[Callable[[Draft, random.Random, str, Dims], Made | None], ...] = (_turned, _joined, _parted, _regrouped)
_FORMS = (*_WHOLE, _cut, _one_of)


def _factor(dim: str) -> str:
    return dim if dim.isalnum() else f"({dim})"


def _number(draft: Draft, dim: str) -> int:
    """What a dim is in the text's sight, -1 where that is no number."""
    if dim.isdigit():
        return int(dim)
    return draft.sizes[dim] if dim in draft.statics else -1
