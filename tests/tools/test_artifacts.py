"""Artifacts: named by content, whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkern.tools.artifacts import ArtifactStore


def test_equal_content_has_one_id_and_one_file(tmp_path: Path):
    store = ArtifactStore(tmp_path)
    first, second = store.put("cuda", b"text"), store.put("cuda", b"text")
    assert first == second
    assert len(list(tmp_path.iterdir())) == 1
    assert store.put("cuda", b"texts").id != first.id
    assert store.put("ptx", b"text").id != first.id


def test_what_was_kept_is_read_back(tmp_path: Path):
    kept = ArtifactStore(tmp_path).put("cuda", b"text")
    found = ArtifactStore(tmp_path).get(kept.id)
    assert found is not None
    assert (found.kind, found.data) == ("cuda", b"text")


def test_a_damaged_file_counts_as_gone(tmp_path: Path):
    store = ArtifactStore(tmp_path)
    kept = store.put("cuda", b"text")
    assert kept.path is not None
    Path(kept.path).write_bytes(b"changed")
    assert store.get(kept.id) is None


@pytest.mark.parametrize("identity", ["", "cuda-", "cuda-0123456789abcdef", "../x-0123456789abcdef", "x-1"])
def test_an_id_that_is_none_has_no_artifact(tmp_path: Path, identity: str):
    assert ArtifactStore(tmp_path).get(identity) is None


def test_a_folder_that_cannot_be_written_costs_the_copy_only(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    kept = ArtifactStore(blocked / "store").put("cuda", b"text", path=tmp_path / "out.cu")
    assert kept.path == str(tmp_path / "out.cu")
    assert kept.bytes == 4
