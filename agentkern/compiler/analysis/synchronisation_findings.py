"""What the synchronisation checker says: one record a fault, with both operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.printer import attrs_text


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


def op_text(op: Op) -> str:
    """One operation as a line: names of operands where they have one, attributes, location."""
    operands = ", ".join(_name(v) for v in op.operands)
    text = f"{op.name}({operands})"
    if op.attrs:
        text += f" {attrs_text(op.attrs)}"
    if op.results:
        text = f"{', '.join(_name(v) for v in op.results)} = {text}"
    if op.location is not None:
        text += f" @{op.location[0]}:{op.location[1]}"
    return text


def _name(value: Value) -> str:
    return f"%{value.name}" if value.name else "%_"


class Report:
    """Collects findings, each pair of operations once a rule."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int, int], SyncFinding] = {}
        self.sizes: Mapping[str, int] = {}

    def add(self, rule: str, message: str, op: Op, other: Op | None = None) -> None:
        """Note a violation in the present case."""
        key = (rule, id(op), id(other))
        if key not in self.found:
            texts = op_text(op), op_text(other) if other is not None else ""
            self.found[key] = SyncFinding(rule, message, op, other, *texts, tuple(self.sizes.items()))
