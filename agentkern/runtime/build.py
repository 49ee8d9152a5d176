"""Build CUDA text into a cubin with its resources, through the cache: the second of its two levels.

Adds no flags and judges nothing: what spills or is serialised is in the result for the caller to refuse.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from agentkern.runtime.cache import Cache
from agentkern.runtime.cache_keys import cubin_key
from agentkern.runtime.nvrtc import CompiledCuda, NvrtcOptions, compile_cuda
from agentkern.runtime.nvrtc_log import CudaMessage, parse_log
from agentkern.runtime.resources import KernelResources, parse_resources


@dataclass(frozen=True, slots=True)
class Build:
    """A cubin; `resources` of its kernels in the order of their names; `ptx` when it was asked for."""

    cubin: bytes
    ptx: str | None
    resources: tuple[KernelResources, ...]
    messages: tuple[CudaMessage, ...]
    from_cache: bool
    build_ms: float

    @property
    def performance_remarks(self) -> tuple[CudaMessage, ...]:
        """Remarks C75xx: matrix instructions that ptxas serialised."""
        return tuple(m for m in self.messages if m.code is not None and m.code.startswith("C75"))

    def resources_of(self, function: str) -> KernelResources:
        """Return the resources of one `__global__` function."""
        return next(r for r in self.resources if r.name == function)


def build(
    text: str, options: NvrtcOptions, cache: Cache | None, *, name: str = "kernel.cu", with_ptx: bool = False
) -> Build:
    """Build `text`, or take it from `cache`; an entry without PTX does not serve a caller who wants it.

    Errors: NvrtcMissing; NvrtcError when the text is rejected, which is not cached.
    """
    started = time.perf_counter()
    key = cubin_key(text, (name, *options.flags()))
    found = cache.get(key) if cache is not None else None
    if found is not None and (not with_ptx or "ptx" in found):
        ptx = found["ptx"].decode() if with_ptx else None
        return _build(found["cubin"], ptx, found["log"].decode(), started, from_cache=True)
    compiled = compile_cuda(text, options, name=name, with_ptx=with_ptx)
    if cache is not None:
        cache.put(key, _parts(compiled))
    return _build(compiled.cubin, compiled.ptx, compiled.log, started, from_cache=False)


def _build(cubin: bytes, ptx: str | None, log: str, started: float, *, from_cache: bool) -> Build:
    resources, messages = parse_resources(log), parse_log(log)
    return Build(cubin, ptx, resources, messages, from_cache, (time.perf_counter() - started) * 1e3)


def _parts(compiled: CompiledCuda) -> dict[str, bytes]:
    parts = {"cubin": compiled.cubin, "log": compiled.log.encode()}
    return parts if compiled.ptx is None else {**parts, "ptx": compiled.ptx.encode()}
