"""Builds the sample kernels once a session and finds the lines that they mark."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agentkern.runtime.simulator import SimulatorModule, build

_KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def sample(simulator_cache: Path) -> Callable[[str], SimulatorModule]:
    @functools.cache
    def get(name: str) -> SimulatorModule:
        return build((_KERNELS / f"{name}.cu").read_text(), simulator_cache)

    return get


@pytest.fixture(scope="session")
def marked_line() -> Callable[[str, str], int]:
    def find(name: str, mark: str) -> int:
        for number, line in enumerate((_KERNELS / f"{name}.cu").read_text().splitlines(), start=1):
            if re.search(rf"// @{mark}$", line):
                return number
        raise AssertionError(f"no mark @{mark} in {name}.cu")

    return find
