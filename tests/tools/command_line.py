"""Run the command line in this process and keep what it said."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

import pytest

from agentkern.tools.cli import main


@dataclass(frozen=True, slots=True)
class Answer:
    """Exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        return json.loads(self.out)


def agentkern(*arguments: str) -> Answer:
    """Run `agentkern ARGUMENTS`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    code = ended.value.code
    return Answer(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
