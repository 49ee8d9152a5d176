"""What every tool says of a kernel that is marked `nondeterministic=True`."""

from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.nondeterminism import is_nondeterministic

WHY = "bits may differ from run to run"
WORDS = f"nondeterministic: {WHY}"


def said_of(kernel: Kernel | None) -> str:
    """The words of a summary, before its next step; nothing for other kernels."""
    return f"; {WORDS}" if kernel is not None and is_nondeterministic(kernel) else ""
