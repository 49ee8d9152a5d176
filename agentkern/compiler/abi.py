"""What a compiled kernel asks of its caller: the launches and their arguments, in order. Data only.

Shared by code generation, the simulator, the GPU runtime and the tools.
"""

from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Layout, records_of
from agentkern.compiler.ir.types import Access, TensorType, TileType, entry_names
from agentkern.compiler.ir.views import granules_of
from agentkern.dsl.dtypes import DType


@dataclass(frozen=True, slots=True)
class TensorParam:
    """A tensor parameter: extents over the kernel's sizes. Contiguous, row-major, unless `strides` are prescribed.

    Of records it is the bytes: u8, the last axis one record, whose layout is `record`. Its address is a multiple of
    `aligned` bytes. Its rows are whole numbers of `granule` elements side by side, and its address is a multiple of as
    many: views of wider elements need that.
    """

    name: str
    dtype: DType
    shape: tuple[int | Dim, ...]
    access: Access
    record: Layout | None = None
    strides: tuple[int | Dim, ...] | None = None
    aligned: int = 1
    granule: int = 1


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar parameter with its default, None if the caller must give it."""

    name: str
    dtype: DType
    default: int | float | bool | None = None


def params_of(kernel: Kernel) -> tuple[TensorParam | ScalarParam, ...]:
    """The parameters of a kernel of any stage, scratch included."""
    given = kernel.attrs.get("defaults", ())
    assert isinstance(given, tuple)
    defaults: dict[str, object] = dict(given)
    records, granules = records_of(kernel), granules_of(kernel)
    found: list[TensorParam | ScalarParam] = []
    for value in kernel.params:
        name, type_ = value.name or "argument", value.type
        if isinstance(type_, TensorType):
            one = type_.entry
            layout = (one.strides, one.aligned, granules.get(name, 1))
            for entry in entry_names(name, type_):
                found.append(TensorParam(entry, one.dtype, one.shape, one.access, records.get(entry), *layout))
        elif isinstance(type_, TileType):
            default = defaults.get(name)
            assert default is None or isinstance(default, int | float)
            found.append(ScalarParam(name, type_.dtype, default))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ListParam:
    """A list of tensors: the `count` parameters from number `first` on are `name[0]`, `name[1]` and so on.

    While its length is open, one parameter stands for all.
    """

    name: str
    first: int
    count: int | Dim
    access: Access

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(f"{self.name}[{k}]" for k in range(self.count if isinstance(self.count, int) else 1))


def lists_of(kernel: Kernel) -> tuple[ListParam, ...]:
    """The lists among a kernel's parameters, in order."""
    rows = kernel.attrs.get("lists", ())
    assert isinstance(rows, tuple)
    # text from outside may hold anything
    return tuple(ListParam(*row) for row in rows if isinstance(row, tuple) and len(row) == 4)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the generated function.

    `pointer`: the tensor `name`'s first element. `size`: the size `name`, i64. `stride`: elements between neighbours
    of `axis` of tensor `name`, i64. `scalar`: the parameter `name`. `tensor_map`: the copy engine's map of `tensor`, in
    boxes of `box` elements (row-major), `swizzle` bytes. `table`: the first elements of the tensors `entries`, one
    pointer behind the other. `stride_table`: the `axis` strides of each of them, likewise.
    """

    kind: Literal["pointer", "size", "stride", "scalar", "tensor_map", "table", "stride_table"]
    name: str
    dtype: DType
    axis: int = 0
    tensor: str = ""
    box: tuple[int, ...] = ()
    swizzle: int = 0
    entries: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """The 64-bit words of a table; one where it would have none, since no parameter is empty."""
        return max(len(self.entries) * (self.axis if self.kind == "stride_table" else 1), 1)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: `blocks` is an extent over the kernel's sizes; 0 blocks is no launch."""

    function: str
    blocks: int | Dim
    threads: int
    shared_bytes: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """What a build assumes of the tensors: `strided` names those with free strides; `alignment` in bytes.

    `shared`: outputs that are inputs too, each with that input: one memory.
    """

    strided: tuple[str, ...] = ()
    alignment: int = 16
    shared: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelAbi:
    """A compiled kernel's calling convention. `params` in the order of the source; launches run in order."""

    name: str
    params: tuple[TensorParam | ScalarParam, ...]
    sizes: tuple[SizeInfo, ...]
    statics: tuple[tuple[str, int], ...]
    launches: tuple[Launch, ...]
    variant: Variant
    lists: tuple[ListParam, ...] = ()
