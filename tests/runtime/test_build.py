"""A build from the cache is the build itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.runtime import build as build_module
from agentkern.runtime.build import Build, build
from agentkern.runtime.cache import Cache
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions
from tests.runtime.cuda_texts import SPILLING, TWO_KERNELS, UNDEFINED_NAME, warpgroup_product

HOPPER = NvrtcOptions("sm_90a")


def content(built: Build) -> Build:
    return replace(built, build_ms=0.0, from_cache=False)


@pytest.mark.parametrize("text", [TWO_KERNELS, SPILLING, warpgroup_product("c0 += 1.0f;")])
def test_second_build_comes_from_the_cache_and_is_the_same(tmp_path: Path, text: str):
    first, second = (build(text, HOPPER, Cache(tmp_path), with_ptx=True) for _ in range(2))
    assert (first.from_cache, second.from_cache) == (False, True)
    assert content(first) == content(second)


def test_build_from_the_cache_does_not_touch_nvrtc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build(TWO_KERNELS, HOPPER, Cache(tmp_path))
    monkeypatch.setattr(build_module, "compile_cuda", None)
    assert build(TWO_KERNELS, HOPPER, Cache(tmp_path)).from_cache


@pytest.mark.parametrize("other", [NvrtcOptions("sm_80"), NvrtcOptions("sm_90a", contract=True)])
def test_other_options_are_another_build(tmp_path: Path, other: NvrtcOptions):
    build(TWO_KERNELS, HOPPER, Cache(tmp_path))
    assert not build(TWO_KERNELS, other, Cache(tmp_path)).from_cache


def test_ptx_asked_for_later_is_built_then(tmp_path: Path):
    without = build(TWO_KERNELS, HOPPER, Cache(tmp_path))
    having = build(TWO_KERNELS, HOPPER, Cache(tmp_path), with_ptx=True)
    assert without.ptx is None
    assert not having.from_cache
    assert having.ptx is not None
    assert build(TWO_KERNELS, HOPPER, Cache(tmp_path)).ptx is None


def test_damaged_entry_is_built_again(tmp_path: Path):
    first = build(TWO_KERNELS, HOPPER, Cache(tmp_path))
    (path,) = (p for p in tmp_path.rglob("*") if p.is_file())
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))
    again = build(TWO_KERNELS, HOPPER, Cache(tmp_path))
    assert not again.from_cache
    assert again.cubin == first.cubin


def test_rejected_text_is_not_kept(tmp_path: Path):
    for _ in range(2):
        with pytest.raises(NvrtcError, match="missing"):
            build(UNDEFINED_NAME, HOPPER, Cache(tmp_path))
    assert Cache(tmp_path).usage().entries == 0


def test_build_without_a_cache_has_resources_and_remarks():
    built = build(warpgroup_product("c0 += 1.0f;"), HOPPER, None)
    assert built.resources_of("product").registers > 0
    assert built.performance_remarks != ()
