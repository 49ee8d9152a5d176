"""What a row of the table of diagnostic codes holds, and short forms of common rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentkern.diagnostics.model import Severity

Source = Literal["frontend", "proofs", "compiler", "call", "tool"]
Status = Literal["rejected", "unproved", "unsupported", "failed", "unavailable"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row. `message` and `hint` are templates over the fields that `error` is given.

    `source` says who reports it; `status` is what a result becomes through it. `is_usage`: the call is wrong, an option
    or an argument, not the kernel; a command that says nothing else ends with 2.
    """

    code: str
    message: str
    hint: str = ""
    source: Source = "frontend"
    status: Status = "rejected"
    severity: Severity = "error"
    is_usage: bool = False


def proof(code: str, message: str, hint: str, status: Status = "rejected") -> Code:
    """Make the row of a code that the prover reports."""
    return Code(code, message, hint, "proofs", status)


def call(code: str, message: str, hint: str = "", *, is_usage: bool = False) -> Code:
    """Make the row of a code that a call of a compiled kernel reports."""
    return Code(code, message, hint, "call", "failed", is_usage=is_usage)


def tool(code: str, message: str, hint: str = "", status: Status = "failed") -> Code:
    """Make the row of a code that a tool reports."""
    return Code(code, message, hint, "tool", status)


def usage(code: str, message: str, hint: str = "") -> Code:
    """Make the row of a code for a wrong option or argument of a tool."""
    return Code(code, message, hint, "tool", "failed", is_usage=True)


def later(code: str, message: str, hint: str) -> Code:
    """Make the row of a code for what is not supported yet."""
    return Code(code, message, hint, "frontend", "unsupported")
