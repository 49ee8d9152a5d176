"""Names of the prelude functions that combine an element with memory in one step."""

from __future__ import annotations

from agentkern.compiler.codegen.prelude import PRELUDE
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.passes.unsupported import UnsupportedError


def update_function(op: Op, arch: int) -> str:
    """The function of an `update` on an architecture. Errors: UnsupportedError where it has no such instruction."""
    pointer, kind = op.operands[0].type, op.attrs["kind"]
    assert isinstance(pointer, Pointer)
    dtype = pointer.dtype
    # a sum of integers does not depend on their sign
    number = f"u{dtype.bits}" if dtype.is_integer and kind == "add" else dtype.name
    name = f"ak_red{'_shared' * (pointer.space == 'shared')}_{kind}_{number}"
    if PRELUDE[name].min_arch > arch:
        raise UnsupportedError(f"`ak.atomic_{kind}` of {dtype}", "sum in f32, and convert in a later grid", op.location)
    return name
