"""How long work says where it stands: a callback that the command line, the jobs and tests each give their own."""

from __future__ import annotations

from collections.abc import Callable

# Fraction of the work, None if unknown, and what is going on.
Report = Callable[[float | None, str], None]


def silent(_fraction: float | None, _message: str) -> None:
    """Say nothing."""
