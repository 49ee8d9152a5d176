"""When a name is evidently another one that the keyboard spoiled. Knows no names.

A letter more, less or another than meant makes many a function of another one (`asin`, `tan`, `elu`), so only what
nobody writes on purpose counts: letter case, two letters swapped, one letter missing, one letter doubled.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHORTEST = 3
"""Letters of a name that can be taken for another one: `t` and `T`, `n` and `nn` are names of their own."""


def slip_of(asked: str, names: Iterable[str]) -> str | None:
    """The one name that `asked` is evidently meant to be, or None."""
    found = [name for name in dict.fromkeys(names) if _is_slip(asked, name)]
    return found[0] if len(found) == 1 else None


def nearest(asked: str, names: Iterable[str]) -> str:
    """The names that look most like `asked`, in words for a hint; empty where none does."""
    near = difflib.get_close_matches(asked, list(dict.fromkeys(names)), 3, 0.6)
    return f"the nearest names are {', '.join(f'`{name}`' for name in near)}" if near else ""


def _is_slip(asked: str, name: str) -> bool:
    if asked == name or min(len(asked), len(name)) < SHORTEST:
        return False
    if asked.lower() == name.lower():
        return True
    if len(asked) == len(name):
        places = range(len(name) - 1)
        return any(asked == name[:i] + name[i + 1] + name[i] + name[i + 2 :] for i in places)
    if len(asked) == len(name) - 1:
        return any(asked == name[:i] + name[i + 1 :] and name[i].isalpha() for i in range(len(name)))
    if len(asked) == len(name) + 1:
        return any(name == asked[:i] + asked[i + 1 :] and asked[i] == asked[i - 1] for i in range(1, len(asked)))
    return False
