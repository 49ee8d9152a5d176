import gc
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from agentkern.runtime.simulator import (
    Buffer,
    LaunchError,
    SimulatorBuildError,
    SimulatorOptions,
    SimulatorUnavailableError,
    binding,
    build,
    host_compiler,
    kernel_names,
    toolchain,
)

pytestmark = pytest.mark.toolchain

_TEXT = """
extern "C" __global__ void __launch_bounds__(32, 1) set(unsigned* out, unsigned value) {
    ak_st_u32(out + threadIdx.x, value);
}
"""


def run(cu_text: str, folder: Path) -> int:
    out = Buffer("out", np.zeros(32, np.uint32), writable=True)
    assert build(cu_text, folder).launch("set", 1, 32, 0, [out, 41]).clean
    return int(out.array.sum())


def test_kernel_names_ignore_comments_and_launch_bounds():
    text = """
// __global__ void commented(int x) {}
/* __global__ void also(int x) {} */
extern "C" __global__ void __launch_bounds__(128, 4) first(const float* x) {}
__device__ int helper(int x) { return x; }
extern "C" __global__ void
__launch_bounds__(64)
second(float* out) {}
extern "C" __global__ void third() {}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) fourth(int a) { helper(a); }
"""
    assert kernel_names(text) == ("first", "second", "third", "fourth")


def test_second_build_takes_the_cached_object(tmp_path, monkeypatch):
    assert run(_TEXT, tmp_path) == 41 * 32
    monkeypatch.setattr(toolchain, "_compile", lambda *_: pytest.fail("compiled again"))
    assert run(_TEXT, tmp_path) == 41 * 32


def test_damaged_cache_entry_is_rebuilt(tmp_path):
    build(_TEXT, tmp_path)
    for damage in (lambda _: b"", lambda _: b"not an object", lambda content: content[: len(content) // 2]):
        for entry in (tmp_path / "simulator").glob("*.so"):
            content = entry.read_bytes()
            entry.unlink()  # a loaded object keeps its own file
            entry.write_bytes(damage(content))
        assert run(_TEXT, tmp_path) == 41 * 32


def test_several_threads_build_one_text_at_once(tmp_path):
    sums = []
    workers = [threading.Thread(target=lambda: sums.append(run(_TEXT, tmp_path))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sums == [41 * 32] * 4
    assert not list((tmp_path / "simulator").glob("building-*"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_texts_of_many_folders_leave_no_memory_maps(tmp_path):
    def run_in(folder: str) -> int:
        assert run(_TEXT, tmp_path / folder) == 41 * 32
        gc.collect()
        return len(Path("/proc/self/maps").read_text().splitlines())

    first = run_in("first")  # with the engine and the stacks of its threads
    assert max(run_in(f"{number}") for number in range(3)) < first + 16


def test_text_that_does_not_compile_gives_its_line(tmp_path):
    with pytest.raises(SimulatorBuildError, match=r"kernel\.cu:3:.*ak_ex2_approx_f32"):
        build('extern "C" __global__ void f(float* x) {\n  float y = 0;\n  y = ak_ex2_approx_f32(y);\n}', tmp_path)


def test_no_compiler_is_said_with_what_to_install(monkeypatch):
    monkeypatch.setenv("CXX", "")
    monkeypatch.setattr(toolchain, "_CANDIDATES", ("no-such-compiler",))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    host_compiler.cache_clear()
    try:
        with pytest.raises(SimulatorUnavailableError, match="pip install ziglang"):
            host_compiler()
    finally:
        host_compiler.cache_clear()


def test_portable_context_switch_gives_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr(binding, "_ENGINE_FLAGS", (*binding._ENGINE_FLAGS, "-DAK_SIM_UCONTEXT=1"))
    text = (Path(__file__).parent / "kernels" / "row_sum.cu").read_text()
    x = np.full((8, 512), 0x3F80, np.uint16)
    out = Buffer("out", np.zeros(8, np.float32), writable=True, initialised=False)
    report = build(text, tmp_path).launch("row_sum", 8, 64, 8, [Buffer("x", x), out, 8, 512])
    assert report.clean
    assert (out.array == 512).all()


def words(count: int = 32) -> Buffer:
    return Buffer("out", np.zeros(count, np.uint32), writable=True)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (("other", 1, 32, 0, (words(), 1)), "no kernel `other`"),
        (("set", -1, 32, 0, (words(), 1)), "0 to 2\\^31 - 1 blocks"),
        (("set", 1 << 31, 32, 0, (words(), 1)), "0 to 2\\^31 - 1 blocks"),
        (("set", 1, 33, 0, (words(), 1)), "whole warps"),
        (("set", 1, 2048, 0, (words(), 1)), "whole warps"),
        (("set", 1, 32, 1 << 20, (words(), 1)), "shared memory"),
        (("set", 1, 32, 0, (words(),)), "takes 2 arguments, 1 given"),
        (("set", 1, 32, 0, (1, 1)), "argument 0 of `set` is a Buffer"),
        (("set", 1, 32, 0, (words(), words())), "argument 1 of `set` is a number"),
        (("set", 1, 32, 0, (words(), 1.5)), "cannot take 1.5"),
        (("set", 1, 32, 0, (words(), 1 << 32)), "does not fit 4 bytes"),
    ],
)
def test_launch_that_does_not_fit_is_refused(simulator_cache, launch, message):
    with pytest.raises(LaunchError, match=message):
        build(_TEXT, simulator_cache).launch(*launch)


def test_blocks_outside_the_grid_are_refused(simulator_cache):
    with pytest.raises(LaunchError, match="outside the grid"):
        build(_TEXT, simulator_cache).launch("set", 2, 32, 0, [words(), 1], SimulatorOptions(blocks=(2,)))


def test_scalars_arrive_in_their_own_types(simulator_cache):
    text = """
extern "C" __global__ void scalars(unsigned long long* out, float f, double d, unsigned short h, signed char c,
                                   long long l) {
    if (threadIdx.x == 0) {
        ak_st_u64(out + 0, __float_as_uint(f));
        ak_st_u64(out + 1, (unsigned long long)__double_as_longlong(d));
        ak_st_u64(out + 2, h);
        ak_st_u64(out + 3, (unsigned long long)(long long)c);
        ak_st_u64(out + 4, (unsigned long long)l);
    }
}
"""
    out = Buffer("out", np.zeros(5, np.uint64), writable=True)
    assert build(text, simulator_cache).launch("scalars", 1, 32, 0, [out, 0.1, 0.1, 65535, -3, -(1 << 40)]).clean
    want = [
        int(np.float32(0.1).view(np.uint32)),
        int(np.float64(0.1).view(np.uint64)),
        65535,
        (1 << 64) - 3,
        (1 << 64) - (1 << 40),
    ]
    assert out.array.tolist() == want


def test_buffer_to_write_needs_a_writable_array():
    array = np.zeros(4)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        Buffer("out", array, writable=True)
    with pytest.raises(ValueError, match="negative stride"):
        Buffer("x", np.zeros(4)[::-1])
