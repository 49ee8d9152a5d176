"""CUDA text becomes a cubin, or an error that says where."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentkern.runtime import nvrtc_library
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda, nvrtc_version, ptx_of
from agentkern.runtime.nvrtc_library import NvrtcMissing, find_nvrtc
from tests.runtime.cuda_texts import (
    BOGUS_INSTRUCTION,
    TOO_MUCH_SHARED,
    TWO_KERNELS,
    UNDEFINED_NAME,
    warpgroup_product,
)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_text_becomes_a_cubin_and_ptx_for_each_target(arch: str):
    compiled = compile_cuda(TWO_KERNELS, NvrtcOptions(arch), with_ptx=True)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert compiled.ptx is not None
    assert f".target {arch}" in compiled.ptx
    assert compiled.compile_ms > 0


def test_ptx_is_left_out_unless_asked_for():
    assert compile_cuda(TWO_KERNELS, NvrtcOptions("sm_90a")).ptx is None


def test_undefined_name_is_reported_with_its_line_and_excerpt():
    with pytest.raises(NvrtcError) as caught:
        compile_cuda(UNDEFINED_NAME, NvrtcOptions("sm_90a"), name="softmax.cu")
    (error,) = caught.value.errors
    assert (error.file, error.line) == ("softmax.cu", 3)
    assert 'identifier "missing" is undefined' in error.text
    assert error.excerpt is not None
    assert "out[1] = missing(1);" in error.excerpt


def test_instruction_that_ptxas_rejects_is_quoted_from_the_ptx():
    with pytest.raises(NvrtcError) as caught:
        compile_cuda(BOGUS_INSTRUCTION, NvrtcOptions("sm_90a"))
    (error,) = caught.value.errors
    assert error.file == "ptx"
    assert error.excerpt is not None
    assert "bogus.f32" in error.excerpt


def test_silent_rejection_of_static_shared_memory_is_explained():
    with pytest.raises(NvrtcError, match="static shared memory of 400000 bytes"):
        compile_cuda(TOO_MUCH_SHARED, NvrtcOptions("sm_90a"))


@pytest.mark.parametrize("options", [NvrtcOptions("sm_9000"), NvrtcOptions("sm_90a", extra=("--nonsense",))])
def test_option_that_does_not_exist_is_an_error(options: NvrtcOptions):
    with pytest.raises(NvrtcError, match=r"invalid value|unrecognized option"):
        compile_cuda(TWO_KERNELS, options)


def test_contraction_is_off_unless_asked_for():
    def ptx(*, contract: bool) -> str:
        return ptx_of(TWO_KERNELS, NvrtcOptions("sm_90a", contract=contract))

    assert "fma.rn.f32" not in ptx(contract=False)
    assert "fma.rn.f32" in ptx(contract=True)


def test_touching_the_accumulator_of_a_running_product_surfaces_as_a_performance_remark():
    compiled = compile_cuda(warpgroup_product("c0 += 1.0f;"), NvrtcOptions("sm_90a"))
    assert [remark.code for remark in compiled.performance_remarks] != []


def test_product_left_alone_has_no_performance_remark():
    assert compile_cuda(warpgroup_product(""), NvrtcOptions("sm_90a")).performance_remarks == ()


def test_four_threads_get_the_cubin_that_one_gets():
    options = NvrtcOptions("sm_90a")
    alone = compile_cuda(TWO_KERNELS, options).cubin
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: compile_cuda(TWO_KERNELS, options).cubin, range(4)))
    assert together == [alone] * 4


def test_version_of_the_library_agrees_with_its_identity():
    found = find_nvrtc()
    major, minor = nvrtc_version()
    assert found.version is not None
    assert found.version.startswith(f"{major}.{minor}.")
    assert found.version in found.identity


def test_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr(nvrtc_library, "_toolkit_roots", lambda: iter([tmp_path]))
    with pytest.raises(NvrtcMissing, match="pip install nvidia-cuda-nvrtc"):
        find_nvrtc.__wrapped__()


def test_library_of_a_toolkit_is_found_where_there_is_no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    real = tmp_path / "lib64" / "libnvrtc.so.13.0.88"
    real.parent.mkdir()
    real.write_bytes(b"library")
    (tmp_path / "lib64" / "libnvrtc.so.13").symlink_to(real)
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr(nvrtc_library, "_toolkit_roots", lambda: iter([tmp_path]))
    assert find_nvrtc.__wrapped__().version == "13.0.88"
