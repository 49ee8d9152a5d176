"""What every test shares. Tests marked `gpu` are skipped, with the reason, where there is no GPU."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure; tests that bound a time measure it themselves.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")


@pytest.fixture(scope="session")
def simulator_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the host compiler builds, shared by a test run's process."""
    return tmp_path_factory.mktemp("simulator_cache")


def why_no_gpu() -> str | None:
    """None where a GPU can be used, else the reason."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver on this machine"
    status = driver.cuInit(0)
    return f"the NVIDIA driver reports error {status}" if status else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run."""
    if not any(item.get_closest_marker("gpu") for item in items):
        return
    reason = why_no_gpu()
    if reason is None:
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=f"gpu: {reason}"))
