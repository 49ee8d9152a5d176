"""What files with the spelling of single operations see of the function printer."""

from __future__ import annotations

from typing import Protocol

from agentkern.compiler.codegen.prelude import PreludeFunction
from agentkern.compiler.ir.core import Op, Value


class Printer(Protocol):
    """What the function printer offers."""

    names: dict[Value, str]
    inlined: dict[Value, str]
    arch: int

    def fresh(self, base: str) -> str:
        """A new C identifier."""
        ...

    def bare(self, value: Value) -> str:
        """A value's expression without outer brackets."""
        ...

    def summand(self, value: Value) -> str:
        """A value's expression as it may follow `+`."""
        ...

    def line(self, text: str, op: Op | None = None) -> None:
        """Print a line."""
        ...

    def use(self, function: str) -> str:
        """Note that a prelude function is used; returns its name."""
        ...

    def helper(self, function: PreludeFunction) -> str:
        """The name of a prelude function that this text needs from now on."""
        ...
