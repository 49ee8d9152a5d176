"""What a pass raises when a program is right but this version cannot compile it."""

from agentkern.compiler.ir.core import Location


class UnsupportedError(Exception):
    """`message` says what, `hint` names the nearest thing that works, `location` is where in the kernel's text."""

    def __init__(self, message: str, hint: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.location = location
