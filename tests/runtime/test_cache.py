"""The cache returns what was stored or nothing, whatever happens to its files."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from agentkern.runtime.cache import Cache, cache_folder, chosen_folder

KEY = "0123456789abcdef0123"
OTHER = "fedcba9876543210fedc"
PARTS = {"cubin": bytes(range(256)) * 4, "log": b"Used 10 registers", "empty": b""}


def entry_path(folder: Path) -> Path:
    (path,) = (p for p in folder.rglob("*") if p.is_file())
    return path


def test_entry_comes_back_as_it_was_stored(tmp_path: Path):
    assert Cache(tmp_path).put(KEY, PARTS)
    assert Cache(tmp_path).get(KEY) == PARTS


def test_key_never_stored_is_absent(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    assert cache.get(OTHER) is None


def test_second_write_of_a_key_wins(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    cache.put(KEY, {"cubin": b"new"})
    assert cache.get(KEY) == {"cubin": b"new"}


@pytest.mark.parametrize("position", [0, 7, 8, 39, 40, 60, 500, -1])
def test_entry_with_one_flipped_bit_is_absent_and_can_be_rebuilt(tmp_path: Path, position: int):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    path = entry_path(tmp_path)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    assert cache.get(KEY) is None
    assert not path.exists()
    cache.put(KEY, PARTS)
    assert cache.get(KEY) == PARTS


@pytest.mark.parametrize("kept_bytes", [0, 5, 8, 40, 45, 200])
def test_entry_cut_short_is_absent(tmp_path: Path, kept_bytes: int):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    path = entry_path(tmp_path)
    path.write_bytes(path.read_bytes()[:kept_bytes])
    assert cache.get(KEY) is None


def test_entry_moved_to_another_key_is_absent(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put(OTHER, PARTS)
    path = entry_path(tmp_path)
    target = tmp_path / "v1" / KEY[:2] / KEY[2:]
    target.parent.mkdir()
    path.rename(target)
    assert cache.get(KEY) is None


def test_longest_unused_entries_go_when_the_bound_is_passed(tmp_path: Path):
    cache = Cache(tmp_path, max_bytes=10_000)
    keys = [f"{i:020d}" for i in range(1, 9)]
    for age, key in enumerate(keys[:7]):
        cache.put(key, {"data": bytes(1200)})
        os.utime(tmp_path / "v1" / key[:2] / key[2:], (1000.0 + age, 1000.0 + age))
    assert cache.get(keys[0]) is not None  # used just now: no longer the oldest
    cache.put(keys[7], {"data": bytes(1200)})
    cache.put(OTHER, {"data": bytes(1200)})
    assert cache.usage().total_bytes <= 10_000
    assert cache.get(keys[0]) is not None
    assert cache.get(OTHER) is not None
    assert cache.get(keys[1]) is None


def test_bound_is_kept_by_a_process_that_finds_a_full_folder(tmp_path: Path):
    for i in range(10):
        Cache(tmp_path, max_bytes=1 << 30).put(f"{i:020d}", {"data": bytes(1000)})
    Cache(tmp_path, max_bytes=5000).put(KEY, {"data": bytes(1000)})
    assert Cache(tmp_path).usage().total_bytes <= 5000


def test_file_of_a_writer_that_died_is_removed_by_pruning(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    left_behind = entry_path(tmp_path).parent / ".writing-1-0000"
    left_behind.write_bytes(b"half")
    two_hours_ago = time.time() - 7200
    os.utime(left_behind, (two_hours_ago, two_hours_ago))
    cache.prune(1 << 30)
    assert not left_behind.exists()
    assert cache.get(KEY) == PARTS


def test_folder_that_cannot_be_made_stores_nothing_and_raises_nothing(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    cache = Cache(blocked / "cache")
    assert not cache.put(KEY, PARTS)
    assert cache.get(KEY) is None


def test_cleared_cache_is_empty(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    cache.clear()
    assert cache.usage().entries == 0
    assert cache.get(KEY) is None


def hammer(folder: str, seed: int) -> int:
    """Write, read and prune; count the reads that gave anything but nothing or the truth."""
    cache = Cache(Path(folder), max_bytes=30_000)
    wrong = 0
    for i in range(150):
        key = f"{(i * (seed + 3)) % 20:020d}"
        truth = {"data": key.encode() * 100}
        cache.put(key, truth)
        found = cache.get(f"{(i * 7 + seed) % 20:020d}")
        wrong += found is not None and found != {"data": f"{(i * 7 + seed) % 20:020d}".encode() * 100}
    return wrong


def test_processes_that_share_a_folder_never_read_a_wrong_entry(tmp_path: Path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.starmap(hammer, [(str(tmp_path), seed) for seed in range(3)]) == [0, 0, 0]
    assert not [p for p in tmp_path.rglob(".writing-*")]


def test_folder_is_the_one_of_the_environment_variable():
    assert chosen_folder({"AGENTKERN_CACHE_DIR": "/elsewhere"}) == Path("/elsewhere")


def test_folder_without_the_variable_is_the_platforms(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert chosen_folder({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/agentkern")
    assert chosen_folder({}) == Path.home() / ".cache/agentkern"


def test_a_folder_that_cannot_be_written_gives_way_to_one_that_only_the_user_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    environment = {"AGENTKERN_CACHE_DIR": str(blocked / "inside")}
    found = cache_folder(environment)
    assert found.parent == tmp_path
    assert found.stat().st_mode & 0o077 == 0
    assert cache_folder(environment) == found
    found.chmod(0o777)
    assert cache_folder(environment) == blocked / "inside"
    assert cache_folder({"AGENTKERN_CACHE_DIR": str(tmp_path / "mine")}) == tmp_path / "mine"
