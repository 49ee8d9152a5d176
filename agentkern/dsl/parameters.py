"""Annotations of kernel parameters: tensors in global memory and compile-time values.

Run-time scalars are annotated with their dtype: `eps: ak.f32 = 1e-6`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorAnnotation:
    """What `ak.In[dtype, sizes...]`, `ak.Out[...]` and `ak.InOut[...]` give."""

    access: str
    items: tuple[object, ...]
    promises: tuple[tuple[object, ...], ...] = ()

    def values(self, lo: object, hi: object, ignore: int | None = None) -> TensorAnnotation:
        """Promise that every value is `lo <= v < hi`, or the ignored one."""
        return self._promising("values", lo, hi, ignore)

    def distinct(self, ignore: int | None = None) -> TensorAnnotation:
        """Promise that no two values are equal, but for the ignored one."""
        return self._promising("distinct", ignore)

    def offsets(self, end: object) -> TensorAnnotation:
        """Promise that values start at 0, never fall, and end at `end`."""
        return self._promising("offsets", end)

    def partial(self) -> TensorAnnotation:
        """Let an output keep the old bytes of elements that are not written."""
        return self._promising("partial")

    def strides(self, *strides: object) -> TensorAnnotation:
        """Prescribe the strides, in elements, one for each axis: `.strides(4 * ak.align(T, 4), 4, 1)`.

        Every call is held to them; an output that is left out is allocated so. What only strides reach is no element.
        """
        return self._promising("strides", *strides)

    def aligned(self, nbytes: int) -> TensorAnnotation:
        """Prescribe that the first element's address is a multiple of so many bytes, a power of two up to 256."""
        return self._promising("aligned", nbytes)

    def _promising(self, *promise: object) -> TensorAnnotation:
        return TensorAnnotation(self.access, self.items, (*self.promises, promise))

    def __or__(self, other: None) -> OptionalAnnotation:
        """`ak.In[...] | None`: a tensor that a call may leave out."""
        if other is not None:
            raise TypeError("a tensor is optional with `| None` only")
        return OptionalAnnotation(self)


@dataclass(frozen=True, slots=True)
class OptionalAnnotation:
    """What `ak.In[...] | None` gives; kernels ask `if x is not None:`, and each answer is a build of its own."""

    tensor: TensorAnnotation | ListAnnotation


@dataclass(frozen=True, slots=True)
class ListAnnotation:
    """What `ak.List[ak.In[...], L]` gives."""

    tensor: TensorAnnotation
    count: object

    def __or__(self, other: None) -> OptionalAnnotation:
        """`ak.List[...] | None`: a list that a call may leave out."""
        if other is not None:
            raise TypeError("a list is optional with `| None` only")
        return OptionalAnnotation(self)


class In:
    """A tensor that the kernel reads: `x: ak.In[ak.bf16, T, H]`."""

    def __class_getitem__(cls, items: object) -> TensorAnnotation:
        return TensorAnnotation("in", items if isinstance(items, tuple) else (items,))


class Out:
    """A tensor that the kernel writes in full: `out: ak.Out[ak.bf16, T, H]`."""

    def __class_getitem__(cls, items: object) -> TensorAnnotation:
        return TensorAnnotation("out", items if isinstance(items, tuple) else (items,))


class InOut:
    """A tensor that a block reads and writes in its own elements: `state: ak.InOut[ak.f32, T, H]`."""

    def __class_getitem__(cls, items: object) -> TensorAnnotation:
        return TensorAnnotation("inout", items if isinstance(items, tuple) else (items,))


class List:
    """L tensors of one type, each with memory of its own: `pre: ak.List[ak.In[ak.f32, T, 4], L]`; `pre[n]` is one.

    `n` is a compile-time integer, or a scalar of the whole block, as the variable of `ak.each(L)`.
    """

    def __class_getitem__(cls, items: tuple[TensorAnnotation, object]) -> ListAnnotation:
        tensor, count = items
        return ListAnnotation(tensor, count)


class Record:
    """One row of a tensor of records, fields in order without padding: `KV = ak.Record(nope=(ak.e4m3, 512))`.

    A field is a dtype or a record, or a tuple of one and extents: `scale=(ak.f32, 4)`. `kv: ak.In[KV, S]` binds to a
    tensor of bytes, (S, size of a record); `kv[rows].scale` is a tile.
    """

    def __init__(self, **fields: object) -> None:
        self.fields = fields


class static_int:
    """A compile-time integer parameter: `groups: ak.static_int = 8`."""


class static_bool:
    """A compile-time truth value parameter: `causal: ak.static_bool = False`."""


class static_float:
    """A compile-time float parameter, kept as f64 until it meets a tile."""
