"""Named sizes and expressions over them, as kernel files spell them in plain Python."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """A named size, or an expression over sizes; `text` is how it is written."""

    text: str
    static: bool = False
    multiple_of: int = 1
    min: int = 0
    max: int | None = None

    def _join(self, operator: str, left: object, right: object) -> Size:
        return Size(f"({left}) {operator} ({right})")

    def __add__(self, other: Size | int) -> Size:
        return self._join("+", self, other)

    def __radd__(self, other: int) -> Size:
        return self._join("+", other, self)

    def __sub__(self, other: Size | int) -> Size:
        return self._join("-", self, other)

    def __rsub__(self, other: int) -> Size:
        return self._join("-", other, self)

    def __mul__(self, other: Size | int) -> Size:
        return self._join("*", self, other)

    def __rmul__(self, other: int) -> Size:
        return self._join("*", other, self)

    def __floordiv__(self, other: Size | int) -> Size:
        return self._join("//", self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return self._join("//", other, self)

    def __mod__(self, other: Size | int) -> Size:
        return self._join("%", self, other)

    def __rmod__(self, other: int) -> Size:
        return self._join("%", other, self)

    def __str__(self) -> str:
        return self.text


def dim(name: str, *, multiple_of: int = 1, min: int = 0, max: int | None = None) -> Size:
    """A size known at run time. `multiple_of`, `min`, `max` are promises that each call checks."""
    return Size(name, False, multiple_of, min, max)


def static(name: str, *, multiple_of: int = 1, min: int = 0, max: int | None = None) -> Size:
    """A size fixed at compile time; each value is a build of its own."""
    return Size(name, True, multiple_of, min, max)


def cdiv(a: Size | int, b: Size | int) -> Size:
    """`a / b` rounded up."""
    return Size(f"cdiv({a}, {b})")


def align(a: Size | int, b: Size | int) -> Size:
    """The smallest multiple of `b` that is at least `a`."""
    return Size(f"align({a}, {b})")
