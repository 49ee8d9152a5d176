"""Say what works on this machine and what to install: each line is a small real use of the thing, not a file check."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from agentkern.runtime.cache import Cache, cache_folder, chosen_folder
from agentkern.runtime.driver import DriverError, NoDriver, driver
from agentkern.runtime.installed import installed_version
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda, nvrtc_version
from agentkern.runtime.nvrtc_library import NvrtcMissing
from agentkern.runtime.sass import DisassemblyFailed, NvdisasmMissing, nvdisasm_version
from agentkern.runtime.simulator import SimulatorBuildError, SimulatorUnavailableError, host_compiler
from agentkern.runtime.simulator.selftest import self_test
from agentkern.shipped import FOLDERS, shipped
from agentkern.tools.install.install import installed_clients
from agentkern.tools.requests import TARGETS
from agentkern.tools.results import DoctorItem, DoctorResult

_PROBE = 'extern "C" __global__ void probe(float *x) { x[threadIdx.x] = __fadd_rn(x[threadIdx.x], 1.0f); }'
# What everything but a GPU run needs. The others are named, and their absence is no fault.
_NEEDED = ("python", "nvrtc", "compiler", "simulator", "z3", "cache")


def doctor() -> DoctorResult:
    """Try everything that the tools rest on."""
    items = tuple(check() for check in _CHECKS)
    broken = [item.name for item in items if not item.works and item.name in _NEEDED]
    if broken:
        installs = "; ".join(item.install for item in items if item.name in broken and item.install)
        return DoctorResult(status="unavailable", summary=f"missing: {', '.join(broken)}; {installs}", items=items)
    has_gpu = any(item.name == "gpu" and item.works for item in items)
    device = "CPU and GPU" if has_gpu else "CPU (no GPU here)"
    corpus = shipped("corpus")
    next_step = f"try `agentkern verify {corpus}/norm/rms_norm/kernel.py --dim H=7168`" if corpus else "see --help"
    return DoctorResult(status="ok", summary=f"all of agentkern works on this {device}; {next_step}", items=items)


def _python() -> DoctorItem:
    works = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return DoctorItem(name="python", works=works, detail=detail, install=None if works else "Python 3.11 or newer")


def _nvrtc() -> DoctorItem:
    install = "pip install 'nvidia-cuda-nvrtc==13.0.*'"
    try:
        major, minor = nvrtc_version()
        for target in TARGETS:
            compile_cuda(_PROBE, NvrtcOptions(target))
    except (NvrtcMissing, NvrtcError) as e:
        return DoctorItem(name="nvrtc", works=False, detail=str(e), install=install)
    detail = f"{major}.{minor}, compiles for {', '.join(TARGETS)}"
    return DoctorItem(name="nvrtc", works=True, detail=detail)


def _nvdisasm() -> DoctorItem:
    try:
        detail = f"{nvdisasm_version()}, for --emit sass"
    except (NvdisasmMissing, DisassemblyFailed) as e:
        install = "pip install 'nvidia-cuda-nvdisasm>=13.4'"
        return DoctorItem(name="nvdisasm", works=False, detail=str(e), install=install)
    return DoctorItem(name="nvdisasm", works=True, detail=detail)


def _compiler() -> DoctorItem:
    try:
        found = host_compiler()
    except SimulatorUnavailableError as e:
        install = "apt-get install g++, or pip install ziglang"
        return DoctorItem(name="compiler", works=False, detail=str(e), install=install)
    version = found.version.splitlines()[0]
    return DoctorItem(name="compiler", works=True, detail=f"`{' '.join(found.command)}`: {version}")


def _simulator() -> DoctorItem:
    try:
        failures = self_test(cache_folder(os.environ))
    except SimulatorUnavailableError:
        detail = "needs a C++ compiler"
        return DoctorItem(name="simulator", works=False, detail=detail)
    except SimulatorBuildError as e:
        detail = f"the compiler refuses it: {e.log.strip().splitlines()[0] if e.log.strip() else 'no message'}"
        return DoctorItem(name="simulator", works=False, detail=detail, install="g++ 11 or newer")
    if failures:
        detail = f"wrong arithmetic with this compiler: {failures[0]}"
        return DoctorItem(name="simulator", works=False, detail=detail, install="another C++ compiler, named by CXX")
    return DoctorItem(name="simulator", works=True, detail="its arithmetic has the GPU's bits (self-test)")


def _z3() -> DoctorItem:
    try:  # a machine that only runs kernels may lack it
        import z3  # noqa: PLC0415
    except ImportError:
        return DoctorItem(name="z3", works=False, detail="z3 is not installed", install="pip install z3-solver")
    solver = z3.Solver()
    n = z3.Int("n")
    solver.add(n * 2 == 7)
    works = solver.check() == z3.unsat
    return DoctorItem(name="z3", works=works, detail=z3.get_version_string(), install=None)


def _torch() -> DoctorItem:
    version = installed_version("torch")
    if version is None:
        detail = "not installed: references in torch and calls with torch tensors need it"
        return DoctorItem(name="torch", works=False, detail=detail, install="pip install torch")
    return DoctorItem(name="torch", works=True, detail=version)


def _gpu() -> DoctorItem:
    try:
        gpus = [driver().info(index) for index in range(driver().device_count)]
    except (NoDriver, DriverError) as e:
        detail = f"{e}; kernels run on the CPU simulator, times need a GPU"
        return DoctorItem(name="gpu", works=False, detail=detail)
    described = [f"{gpu.name} ({gpu.target or 'older than any target'})" for gpu in gpus]
    cuda = ".".join(map(str, gpus[0].driver_version))
    works = any(gpu.target is not None for gpu in gpus)
    return DoctorItem(name="gpu", works=works, detail=f"{', '.join(described)}; driver for CUDA {cuda}")


def _cache() -> DoctorItem:
    folder = chosen_folder(os.environ)
    cache = Cache(folder)
    probe = "doctor0000000000"
    works = cache.put(probe, {"probe": b"1"}) and cache.get(probe) == {"probe": b"1"}
    if not works:
        install = "set AGENTKERN_CACHE_DIR to a folder that can be written"
        return DoctorItem(name="cache", works=False, detail=f"`{folder}` cannot be written", install=install)
    usage = cache.usage()
    detail = f"`{folder}`, {usage.entries} entries, {usage.total_bytes / 1e6:.1f} MB"
    return DoctorItem(name="cache", works=True, detail=detail)


def _package() -> DoctorItem:
    version = installed_version("agentkern") or "not installed, run from its folder"
    return DoctorItem(name="agentkern", works=True, detail=f"{version} in `{Path(__file__).resolve().parent.parent}`")


def _files() -> DoctorItem:
    missing = [name for name in FOLDERS if shipped(name) is None]
    if missing:
        detail = f"{', '.join(missing)}: not installed; searching kernels and evaluations need them"
        return DoctorItem(name="files", works=False, detail=detail, install="agentkern from its source or wheel again")
    return DoctorItem(name="files", works=True, detail=f"{', '.join(FOLDERS)} are here")


def _clients() -> DoctorItem:
    found = installed_clients(Path.cwd())
    parts = [f"{name}{'' if has_entry else ' (skills only: no MCP entry)'}" for name, has_entry in found.items()]
    install = None if found and all(found.values()) else "agentkern install --client claude|codex|gemini|cursor|agents"
    detail = f"set up here: {', '.join(parts)}" if found else "no agent's client is set up in this folder"
    return DoctorItem(name="clients", works=install is None, detail=detail, install=install)


_CHECKS: tuple[Callable[[], DoctorItem], ...] = (
    _package, _files, _python, _nvrtc, _nvdisasm, _compiler, _simulator, _z3, _torch, _gpu, _cache, _clients,
)  # fmt: skip
