"""Tensor maps of buffers for simulated launches."""

from collections.abc import Sequence

from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.simulator import Buffer, TensorMapArgument
from agentkern.runtime.tensor_map import Fill, TensorMap


def box_of(buffer: Buffer, dtype: str, box: Sequence[int], swizzle: int = 0, fill: Fill = "zero") -> TensorMapArgument:
    """The argument for copies of `box` elements, outermost first, of a buffer's whole tensor."""
    array = buffer.array
    map_ = TensorMap(DTYPES[dtype], array.shape, array.strides, tuple(box), swizzle, fill=fill)
    return TensorMapArgument(buffer, map_.simulator_words)
