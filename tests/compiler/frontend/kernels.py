"""Kernels for the tests of the front end, from a signature and a body."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.frontend import FrontendResult, lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.verifier import verify_kernel

HEADER = """import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")
H, G = ak.static("H"), ak.static("G")


@ak.kernel
def kernel({signature}):
{body}
"""
PATH = "kernel.py"


def text_of(signature: str, body: str) -> str:
    """A file with sizes T, N (run time), H, G (static) and one kernel."""
    return HEADER.format(signature=signature, body="\n".join(f"    {line}" for line in body.strip().splitlines()))


def lower(text: str, dims: Mapping[str, int] | None = None, settings: Mapping[str, int | float | bool] | None = None):
    """Lower the first kernel of a text."""
    result = lower_source(text, PATH, None, dims or {}, settings or {})
    if result.kernel is not None:
        verify_kernel(result.kernel)
    return result


def accepted(
    text: str, dims: Mapping[str, int] | None = None, settings: Mapping[str, int | float | bool] | None = None
):
    """The kernel of a text that has nothing wrong with it."""
    result = lower(text, dims, settings)
    assert [(d.code, d.message) for d in result.diagnostics] == []
    assert result.kernel is not None
    return result.kernel


def codes(result: FrontendResult) -> list[str]:
    """The codes reported, in source order."""
    assert (result.kernel is None) == bool(result.diagnostics)
    return [diagnostic.code for diagnostic in result.diagnostics]


def op_names(kernel: Kernel) -> list[str]:
    """The operations of the first grid's body."""
    return [op.name for op in kernel.body[0].regions[0].ops]
