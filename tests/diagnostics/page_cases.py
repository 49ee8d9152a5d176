"""What a page's kernel is reported to be wrong with, by the part of the compiler that reports the code."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel
from agentkern.diagnostics import CODES, Diagnostic, Page, load_page

PATH = "kernel.py"


@dataclass
class Options:
    kernel: str | None = None
    dims: dict[str, int] = field(default_factory=dict)


def options(text: str) -> Options:
    """The options of a block, as the command line spells them."""
    found = Options()
    words = text.split()
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag == "--kernel":
            found.kernel = value
        else:
            assert flag == "--dim"
            name, number = value.split("=")
            found.dims[name] = int(number)
    return found


def reported(page: Page, text: str, *, is_right: bool = False) -> tuple[Diagnostic, ...]:
    """The diagnostics of a kernel text under a page's options, of the right one under its own too."""
    given = options(f"{page.options} {page.right_options if is_right else ''}")
    result = lower_source(text, PATH, given.kernel, given.dims, {})
    if result.kernel is None or CODES[page.code].source != "proofs":
        return result.diagnostics
    return (*result.diagnostics, *diagnose(prove_kernel(result.kernel), PATH))


def pages() -> list[Page]:
    """Every page, by code."""
    found = [load_page(code) for code in sorted(CODES)]
    return [page for page in found if page is not None]
