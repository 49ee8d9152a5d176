"""What every test shares: tests marked `gpu` are skipped, with the reason, where there is no GPU."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import settings

# A busy machine is no failure; tests that bound a time measure it themselves.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")


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
