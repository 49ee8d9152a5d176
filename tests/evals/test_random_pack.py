"""A pack of random kernels holds what a GPU machine needs, and notices wrong bits and stray writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agentkern.runtime.simulator import SimulatorUnavailableError, host_compiler
from evals.exactness.random_pack import check, guarded, make


def _has_compiler() -> bool:
    try:
        host_compiler()
    except SimulatorUnavailableError:
        return False
    return True


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not _has_compiler(), reason="the simulator needs a C++ compiler")
def test_pack_runs_to_the_interpreters_digests_and_a_wrong_digest_is_noticed(tmp_path: Path) -> None:
    make(tmp_path, range(3), "sm_90a", processes=1)
    assert check(tmp_path, tmp_path / "result.json", "cpu") == 0
    table = json.loads((tmp_path / "pack.json").read_text())
    (name, *_) = table["cases"][0]["outputs"]
    table["cases"][0]["outputs"][name] = "0" * 64
    (tmp_path / "pack.json").write_text(json.dumps(table))
    assert check(tmp_path, tmp_path / "result.json", "cpu") == 1
    report = json.loads((tmp_path / "result.json").read_text())
    assert report["failures"] == [{"seed": table["cases"][0]["seed"], "what": [f"`{name}` differs"]}]


def test_guarded_array_is_a_copy_inside_its_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    copy = guarded(array)
    assert np.array_equal(copy, array)
    assert isinstance(copy.base, np.ndarray)
    assert copy.base.nbytes > copy.nbytes
    assert not np.shares_memory(copy, array)
