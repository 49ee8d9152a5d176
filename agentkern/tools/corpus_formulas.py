"""The numbers of meta.toml that are formulas over sizes: extents, and `min(a, b)` of two of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentkern.compiler.ir import dims

_LEAST = re.compile(r"min\(([^(),]+),([^(),]+)\)")


def formula_value(text: str, sizes: Mapping[str, int]) -> int:
    """Return a formula's number, `2 * H * min(S, T) + 4 * T` for instance. Errors: ValueError, KeyError of a size."""

    def least(found: re.Match[str]) -> str:
        return str(min(formula_value(piece.strip(), sizes) for piece in found.groups()))

    return dims.evaluate(dims.parse(_LEAST.sub(least, text)), sizes)
