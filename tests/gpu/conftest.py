"""Fixtures of the tests on a GPU."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def simulator_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the host compiler builds, shared by a test run's process."""
    return tmp_path_factory.mktemp("simulator_cache")
