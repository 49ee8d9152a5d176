"""Signatures for the tests of calls, written as shapes in text."""

from typing import Literal

from agentkern.compiler.abi import ScalarParam, TensorParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.signature import Signature

Access = Literal["in", "out", "inout", "scratch"]


def tensor(name: str, dtype: str, shape: str, access: Access = "in") -> TensorParam:
    """Return a parameter such as `tensor("x", "bf16", "T, 2 * H")`."""
    extents = tuple(dims.parse(part) for part in shape.split(",") if part.strip())
    return TensorParam(name, DTYPES[dtype], extents, access)


def signature(
    *params: TensorParam | ScalarParam, sizes: tuple[SizeInfo, ...] = (), statics: tuple[tuple[str, int], ...] = ()
) -> Signature:
    """Return the signature of a kernel `k`; sizes that shapes name need no row of their own."""
    listed = {info.name for info in sizes} | {name for name, _ in statics}
    tensors = [param for param in params if isinstance(param, TensorParam)]
    named = sorted({name for param in tensors for extent in param.shape for name in dims.symbols(extent)} - listed)
    return Signature("k", params, (*sizes, *(SizeInfo(name) for name in named)), statics)


NORM = signature(
    tensor("x", "f32", "T, H"),
    tensor("weight", "f32", "H"),
    tensor("out", "f32", "T, H", "out"),
    ScalarParam("eps", DTYPES["f32"], 1e-6),
)
