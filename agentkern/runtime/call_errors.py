"""The exception of a call that cannot be made. Its codes, AK7xx, are rows of `diagnostics/codes.py`."""

from __future__ import annotations

from agentkern.diagnostics.codes import CODES
from agentkern.diagnostics.model import Diagnostic, Span


class CallError(Exception):
    """A call that cannot be made.

    `fields` fill the code's message; by custom `name` is the parameter or size, `got` and `expected` say what is wrong.
    """

    def __init__(self, code: str, **fields: object) -> None:
        self.code = code
        self.fields = fields
        self.message = CODES[code].message.format_map(fields)
        self.hint = CODES[code].hint.format_map(fields)
        super().__init__(f"{code}: {self.message}" + (f": {self.hint}" if self.hint else ""))

    def field(self, name: str) -> str:
        """Return one field as text, empty where the code has no such field."""
        return str(self.fields.get(name, ""))

    def diagnostic(self, span: Span) -> Diagnostic:
        """Return the error as a diagnostic at `span`, the kernel's own place or that of the call."""
        return Diagnostic(self.code, CODES[self.code].severity, self.message, span, hint=self.hint, data=self.fields)
