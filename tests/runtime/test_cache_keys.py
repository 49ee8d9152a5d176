"""A key changes with everything that can change the result, and with nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.runtime import cache_keys
from agentkern.runtime.cache import Cache
from agentkern.runtime.cache_keys import ProgramRequest, cubin_key, digest_of, package_digest, program_key

REQUEST = ProgramRequest(
    text="def k(): ...",
    kernel="k",
    values={"H": 7168, "causal": True},
    target="sm_90a",
    schedule="{}",
    numerics="portable",
    package="digest",
)


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, text="def k(): pass"),
        replace(REQUEST, kernel="other"),
        replace(REQUEST, values={"H": 7169, "causal": True}),
        replace(REQUEST, values={"H": 7168, "causal": 1}),
        replace(REQUEST, values={"H": 7168}),
        replace(REQUEST, target="sm_80"),
        replace(REQUEST, schedule='{"rows": 4}'),
        replace(REQUEST, numerics="fast"),
        replace(REQUEST, package="another"),
    ],
)
def test_each_input_of_the_compiler_changes_the_key(other: ProgramRequest):
    assert program_key(other) != program_key(REQUEST)


def test_order_in_which_values_were_given_does_not_change_the_key():
    swapped = replace(REQUEST, values={"causal": True, "H": 7168})
    assert program_key(swapped) == program_key(REQUEST)


def test_version_of_z3_changes_the_key(monkeypatch: pytest.MonkeyPatch):
    before = program_key(REQUEST)
    monkeypatch.setattr(cache_keys, "installed_version", lambda _: "0.0.1")
    assert program_key(REQUEST) != before


def test_flags_and_text_change_the_key_of_a_cubin():
    keys = {
        cubin_key("text", ("-arch=sm_90a",)),
        cubin_key("text", ("-arch=sm_80",)),
        cubin_key("other", ("-arch=sm_90a",)),
        cubin_key("text", ("-arch=sm_90a", "-lineinfo")),
    }
    assert len(keys) == 4


def test_digest_tells_where_a_piece_ends():
    assert digest_of("ab", "c") != digest_of("a", "bc")


def make_package(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("one")
    (folder / "sub" / "b.py").write_text("two")
    return folder


def test_package_digest_follows_the_content_of_its_files(tmp_path: Path):
    cache, package = Cache(tmp_path / "cache"), make_package(tmp_path / "package")
    before = package_digest(cache, package)
    assert package_digest(cache, package) == before
    (package / "sub" / "b.py").write_text("three")
    assert package_digest(cache, package) != before


def test_package_digest_is_the_same_for_equal_content_elsewhere(tmp_path: Path):
    cache = Cache(tmp_path / "cache")
    here, there = make_package(tmp_path / "here"), make_package(tmp_path / "there")
    assert package_digest(cache, here) == package_digest(cache, there)


def test_compiled_python_files_do_not_count(tmp_path: Path):
    cache, package = Cache(tmp_path / "cache"), make_package(tmp_path / "package")
    before = package_digest(cache, package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.pyc").write_bytes(b"code")
    assert package_digest(cache, package) == before


def test_unchanged_package_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache, package = Cache(tmp_path / "cache"), make_package(tmp_path / "package")
    before = package_digest(cache, package)
    reads: list[Path] = []
    read_bytes = Path.read_bytes

    def counting_read(path: Path) -> bytes:
        reads.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counting_read)
    assert package_digest(cache, package) == before
    assert [path for path in reads if path.suffix == ".py"] == []
