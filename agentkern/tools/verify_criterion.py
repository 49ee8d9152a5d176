"""What a result must satisfy against a reference: equal bits, or a stated bound."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal


class CriterionError(ValueError):
    """The text or table is not a criterion."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """bit_exact: all bits equal, any NaN for a NaN. bound: every number that is given must hold.

    `max_ulp`: largest distance in units in the last place. `min_equal_share`: least share of bit-equal elements.
    `max_error_ratio`: most times the reference's own error against float64. `origin`: the file that states it.
    """

    kind: Literal["bit_exact", "bound"] = "bit_exact"
    max_ulp: float | None = None
    min_equal_share: float | None = None
    max_error_ratio: float | None = None
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        numbers = (self.max_ulp, self.min_equal_share, self.max_error_ratio)
        if self.kind == "bound" and all(n is None for n in numbers):
            raise CriterionError("a bound states max_ulp, min_equal_share or max_error_ratio")
        if self.kind == "bit_exact" and any(n is not None for n in numbers):
            raise CriterionError("bit_exact takes no numbers")
        if not all(n is None or (math.isfinite(n) and n >= 0) for n in numbers):
            raise CriterionError("a bound is a finite number that is not negative")
        if self.min_equal_share is not None and self.min_equal_share > 1:
            raise CriterionError("`min_equal_share` is a share of the elements: at most 1")

    def text(self) -> str:
        """Return the criterion as `parse_criterion` reads it."""
        named = {name: getattr(self, name) for name in _NUMBERS}
        numbers = ",".join(f"{name}={value:g}" for name, value in named.items() if value is not None)
        return f"{self.kind}:{numbers}" if numbers else self.kind

    def described(self) -> str:
        """Return the criterion with where it was stated."""
        return f"{self.text()} (of `{self.origin}`)" if self.origin else self.text()


_NUMBERS = ("max_ulp", "min_equal_share", "max_error_ratio")


def parse_criterion(text: str) -> Criterion:
    """Read `bit_exact` or `bound:max_ulp=1,min_equal_share=0.999`. Errors: CriterionError."""
    kind, _, rest = text.partition(":")
    table: dict[str, Any] = {"kind": kind}
    for piece in filter(None, rest.split(",")):
        name, _, number = piece.partition("=")
        try:
            table[name.strip()] = float(number)
        except ValueError as e:
            raise CriterionError(f"`{piece}` is not NAME=NUMBER") from e
    return criterion_from_table(table)


def criterion_from_table(table: dict[str, Any]) -> Criterion:
    """Read the `[criterion]` table of a meta.toml. Errors: CriterionError."""
    kind = table.get("kind")
    if kind not in ("bit_exact", "bound"):
        raise CriterionError(f"criterion `{kind}` is neither bit_exact nor bound")
    unknown = sorted(set(table) - {"kind", "derivation", *_NUMBERS})
    if unknown:
        raise CriterionError(f"unknown criterion key `{unknown[0]}`; keys are {', '.join(_NUMBERS)}")
    ulp, share, ratio = (float(table[name]) if name in table else None for name in _NUMBERS)
    return Criterion(kind, ulp, share, ratio)


def criterion_beside(path: Path) -> Criterion | None:
    """Return the criterion of the meta.toml in a file's folder, None where there is none. Errors: CriterionError."""
    meta = path.parent / "meta.toml"
    if not meta.is_file():
        return None
    try:
        table = tomllib.loads(meta.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as e:
        raise CriterionError(f"{meta}: {e}") from e
    found = table.get("criterion")
    return replace(criterion_from_table(found), origin=str(meta)) if isinstance(found, dict) else None
