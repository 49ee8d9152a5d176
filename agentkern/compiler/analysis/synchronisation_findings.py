"""What the synchronisation checker says: one record a fault, with both operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.printer import print_kernel


@dataclass(frozen=True, slots=True)
class SyncFinding:
    """One violation. `op` is where it shows, `other` the operation that it is about, `sizes` a case that shows it."""

    rule: str
    message: str
    op: Op
    other: Op | None
    op_text: str
    other_text: str
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        case = ", ".join(f"{name}={value}" for name, value in self.sizes)
        other = f"; the other: `{self.other_text}`" if self.other is not None else ""
        return f"{self.rule}: {self.message} at `{self.op_text}`{other}" + (f" ({case})" if case else "")


def op_lines(kernel: Kernel) -> Mapping[int, str]:
    """The line that each operation has in the kernel's text, by its identity."""
    lines = [line.strip() for line in print_kernel(kernel).split("\n")]
    first = next(k for k, line in enumerate(lines) if line.startswith("kernel ")) + 1 + len(kernel.sizes)
    texts = (line.removesuffix(" {") for line in lines[first:] if line and not line.startswith(("^(", "}")))
    return {id(op): text for op, text in zip(walk(kernel.body), texts, strict=True)}


class Report:
    """Collects findings, each pair of operations once a rule."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.found: dict[tuple[str, int, int], SyncFinding] = {}
        self.lines: Mapping[int, str] = {}
        self.sizes: Mapping[str, int] = {}

    def add(self, rule: str, message: str, op: Op, other: Op | None = None) -> None:
        """Note a violation in the present case."""
        key = (rule, id(op), id(other))
        if key not in self.found:
            self.lines = self.lines or op_lines(self.kernel)
            texts = self.lines[id(op)], self.lines[id(other)] if other is not None else ""
            self.found[key] = SyncFinding(rule, message, op, other, *texts, tuple(self.sizes.items()))
