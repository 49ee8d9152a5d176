"""Every operation and type of every stage by name, for the parser and the verifier."""

from collections.abc import Callable

from agentkern.compiler.ir.core import OpSpec
from agentkern.compiler.ir.gpu_async_ops import GPU_ASYNC_OPS
from agentkern.compiler.ir.gpu_ops import GPU_OPS
from agentkern.compiler.ir.gpu_types import GPU_TYPE_READERS
from agentkern.compiler.ir.placed_ops import PLACED_OPS
from agentkern.compiler.ir.tile_ops import TILE_OPS

OPS: dict[str, OpSpec] = {**TILE_OPS, **PLACED_OPS, **GPU_OPS, **GPU_ASYNC_OPS}
TYPE_READERS: dict[str, Callable[[list[str]], object]] = dict(GPU_TYPE_READERS)
