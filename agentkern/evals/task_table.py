"""Typed reading of tables from a file, every complaint with the file and the key. Knows nothing of tasks."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.evals.task_model import TaskError

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file; `where` is its place in it, empty for the file itself."""

    file: Path
    where: str
    data: Mapping[str, Any]

    def path(self, key: str) -> str:
        """Return a key's full name."""
        return f"{self.where}.{key}" if self.where else key

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Raise what is wrong with a key. Errors: TaskError."""
        raise TaskError(f"{self.file}: `{self.path(key)}`: {reason}")

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known. Errors: TaskError names the nearest."""
        names = tuple(known)
        for key in self.data:
            if key not in names:
                near = difflib.get_close_matches(key, names, 1, 0.4)
                hint = f"did you mean `{near[0]}`?" if near else f"keys are {', '.join(names)}"
                self.refuse(key, f"there is no such key; {hint}")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def _get(self, key: str, what: str, accepts: Callable[[Any], bool]) -> Any:
        if key not in self.data:
            self.refuse(key, "is missing")
        value = self.data[key]
        if not accepts(value):
            self.refuse(key, f"is {what}, not {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty, or the default."""
        if default is not None and key not in self.data:
            return default
        found = self._get(key, "a text", lambda v: isinstance(v, str))
        if default is None and not found.strip():
            self.refuse(key, "is empty")
        return str(found).strip()

    def choice(self, key: str, known: Sequence[str]) -> str:
        """Return one of the known words."""
        found = self.text(key)
        if found not in known:
            near = difflib.get_close_matches(found, known, 1, 0.4)
            hint = f"did you mean `{near[0]}`?" if near else f"one of {', '.join(known)}"
            self.refuse(key, f"`{found}` is not known; {hint}")
        return found

    def flag(self, key: str) -> bool:
        """Return true or false; false by default."""
        return key in self.data and bool(self._get(key, "true or false", lambda v: isinstance(v, bool)))

    def integer(self, key: str, default: int | None = None) -> int:
        """Return an integer, or the default."""
        if default is not None and key not in self.data:
            return default
        return int(self._get(key, "an integer", lambda v: isinstance(v, int) and not isinstance(v, bool)))

    def number(self, key: str, default: float) -> float:
        """Return a number, or the default."""
        if key not in self.data:
            return default
        return float(self._get(key, "a number", lambda v: isinstance(v, int | float) and not isinstance(v, bool)))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, none by default."""
        if key not in self.data:
            return ()
        accepts: Callable[[Any], bool] = lambda v: isinstance(v, list) and all(isinstance(one, str) for one in v)  # noqa: E731
        return tuple(self._get(key, "a list of texts", accepts))

    def items(self, key: str) -> tuple[Any, ...]:
        """Return a list, empty by default."""
        return tuple(self._get(key, "a list", lambda v: isinstance(v, list))) if key in self.data else ()

    def table(self, key: str) -> Table:
        """Return a table, empty by default."""
        found = self._get(key, "a table", lambda v: isinstance(v, dict)) if key in self.data else {}
        return Table(self.file, self.path(key), found)

    def tables(self, key: str) -> tuple[Table, ...]:
        """Return a list of tables, none by default."""
        found = self.items(key)
        for value in found:
            if not isinstance(value, dict):
                self.refuse(key, f"is a list of tables, not {value!r}")
        return tuple(Table(self.file, f"{self.path(key)}[{k}]", value) for k, value in enumerate(found))

    def extent(self, key: str, value: Any, sizes: Iterable[str]) -> int | Dim:
        """Return an expression over the named sizes."""
        if not isinstance(value, str | int) or isinstance(value, bool):
            self.refuse(key, f"an extent is an integer or an expression over sizes, not {value!r}")
        try:
            found = dims.parse(str(value)) if isinstance(value, str) else value
        except (ValueError, ZeroDivisionError, RecursionError) as e:
            self.refuse(key, f"`{str(value)[:100]}` is no expression over sizes: {e}")
        known = tuple(sizes)
        for name in dims.symbols(found):
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.0)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                self.refuse(key, f"`{value}` names the size `{name}`, which is not in `sizes`{hint}")
        return found
