"""TILE kernels from text, and their operations by name."""

from collections.abc import Callable

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.verifier import verify_kernel
from tests.compiler.agreement import HEADER


def tile(body: str, **dims: int) -> Kernel:
    """The TILE kernel `HEADER + body`."""
    found = lower_source(HEADER + body, "kernel.py", None, dims)
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return found.kernel


def after(run: Callable[[Kernel], Kernel], body: str, **dims: int) -> Kernel:
    """The kernel after one pass, verified."""
    kernel = run(tile(body, **dims))
    verify_kernel(kernel)
    return kernel


def ops(kernel: Kernel, name: str) -> list[Op]:
    """Operations of a name, in order."""
    return [op for op in walk(kernel.body) if op.name == name]


def names(kernel: Kernel) -> list[str]:
    """Names of all operations in order, the grid's own left out."""
    return [op.name for op in walk(kernel.body) if op.name != "grid"]
