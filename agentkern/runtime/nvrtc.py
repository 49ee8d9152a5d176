"""Compile CUDA text to a cubin in this process, with no GPU and no CUDA toolkit.

Calls NVRTC through ctypes: loading takes about 8 ms where importing cuda.bindings.nvrtc takes 139 ms. Decides nothing
about the code: flags come from the caller. API: NVRTC documentation, CUDA 13.0, "Basic Usage".
"""

from __future__ import annotations

import ctypes
import re
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from agentkern.runtime.nvrtc_library import NvrtcLibrary, NvrtcMissing, find_nvrtc
from agentkern.runtime.nvrtc_log import CudaMessage, Severity, parse_log

_LOAD_LOCK = threading.Lock()
_INVALID_OPTION = 5
_COMPILATION_FAILED = 6


@dataclass(frozen=True, slots=True)
class NvrtcOptions:
    """What the CUDA compiler is told.

    `contract` allows it to fuse multiplication and addition: never for generated text, which names every rounding.
    """

    arch: str
    contract: bool = False
    line_info: bool = False
    include_folders: tuple[Path, ...] = ()
    extra: tuple[str, ...] = ()

    def flags(self) -> tuple[str, ...]:
        """Return the options as NVRTC takes them; part of the cache key."""
        return (
            f"-arch={self.arch}",
            "--std=c++17",
            f"-fmad={'true' if self.contract else 'false'}",
            "--ptxas-options=-v",
            "--no-cache",  # beside a driver NVRTC keeps results, and a kept one comes without ptxas's report
            *(("-lineinfo",) if self.line_info else ()),
            *(f"-I{folder}" for folder in self.include_folders),
            *self.extra,
        )


@dataclass(frozen=True, slots=True)
class CompiledCuda:
    """A cubin and what the compiler said about it."""

    cubin: bytes
    ptx: str | None
    log: str
    messages: tuple[CudaMessage, ...]
    compile_ms: float

    @property
    def performance_remarks(self) -> tuple[CudaMessage, ...]:
        """Remarks C75xx: ptxas serialised matrix instructions or put waits between them, with no spill to show."""
        return tuple(m for m in self.messages if m.code is not None and m.code.startswith("C75"))


class NvrtcError(Exception):
    """NVRTC rejected the text: `messages` has its errors, `log` all it said."""

    def __init__(self, summary: str, log: str, messages: tuple[CudaMessage, ...]) -> None:
        super().__init__(summary)
        self.summary = summary
        self.log = log
        self.messages = messages

    @property
    def errors(self) -> tuple[CudaMessage, ...]:
        """The messages that are errors."""
        return tuple(m for m in self.messages if m.severity is Severity.ERROR)


def compile_cuda(text: str, options: NvrtcOptions, *, name: str = "kernel.cu", with_ptx: bool = False) -> CompiledCuda:
    """Compile CUDA `text` for `options.arch`; safe to call from several threads.

    `name` is what messages call the text.
    Errors: NvrtcMissing without the library; NvrtcError when the text or an option is rejected.
    """
    started = time.perf_counter()
    library = _load()
    program = _Program(library, text, name)
    try:
        status = program.compile(options.flags())
        log = program.log()
        if status != 0:
            raise _failure(library, status, log, text, name, options)
        cubin = program.output("CUBIN")
        ptx = program.output("PTX").rstrip(b"\0").decode() if with_ptx else None
    finally:
        program.destroy()
    elapsed_ms = (time.perf_counter() - started) * 1e3
    return CompiledCuda(cubin, ptx, log, parse_log(log), elapsed_ms)


def ptx_of(text: str, options: NvrtcOptions, *, name: str = "kernel.cu") -> str:
    """Return the PTX of `text`, not assembled, so that it can be looked at when ptxas rejects it.

    Errors: as `compile_cuda`.
    """
    library = _load()
    program = _Program(library, text, name)
    virtual = replace(options, arch=options.arch.replace("sm_", "compute_"))
    flags = tuple(flag for flag in virtual.flags() if not flag.startswith("--ptxas-options"))
    try:
        status = program.compile(flags)
        if status != 0:
            log = program.log()
            raise NvrtcError(_summary(parse_log(log), log), log, parse_log(log))
        return program.output("PTX").rstrip(b"\0").decode()
    finally:
        program.destroy()


def nvrtc_version() -> tuple[int, int]:
    """Major and minor version of NVRTC, asked of the library itself; loads it.

    Errors: NvrtcMissing.
    """
    major, minor = ctypes.c_int(), ctypes.c_int()
    _load().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


class _Program:
    """One nvrtcProgram handle."""

    def __init__(self, library: ctypes.CDLL, text: str, name: str) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        status = library.nvrtcCreateProgram(ctypes.byref(self._handle), text.encode(), name.encode(), 0, None, None)
        assert status == 0, _status_text(library, status)

    def compile(self, flags: tuple[str, ...]) -> int:
        array = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        return self._library.nvrtcCompileProgram(self._handle, len(flags), array)

    def log(self) -> str:
        return self.output("ProgramLog").rstrip(b"\0").decode(errors="replace")

    def output(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        status = self._library[f"nvrtcGet{what}Size"](self._handle, ctypes.byref(size))
        assert status == 0, _status_text(self._library, status)
        buffer = ctypes.create_string_buffer(size.value)
        status = self._library[f"nvrtcGet{what}"](self._handle, buffer)
        assert status == 0, _status_text(self._library, status)
        return buffer.raw[: size.value]

    def destroy(self) -> None:
        self._library.nvrtcDestroyProgram(ctypes.byref(self._handle))


_loaded: list[ctypes.CDLL] = []


def _load() -> ctypes.CDLL:
    with _LOAD_LOCK:
        if not _loaded:
            _loaded.append(_open(find_nvrtc()))
        return _loaded[0]


def _open(found: NvrtcLibrary) -> ctypes.CDLL:
    try:
        if found.builtins is not None:
            ctypes.CDLL(str(found.builtins))
        library = ctypes.CDLL(str(found.path))
    except OSError as e:
        raise NvrtcMissing(f"NVRTC at `{found.path}` does not load: {e}") from e
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _status_text(library: ctypes.CDLL, status: int) -> str:
    return library.nvrtcGetErrorString(status).decode()


def _failure(library: ctypes.CDLL, status: int, log: str, text: str, name: str, options: NvrtcOptions) -> NvrtcError:
    messages = parse_log(log)
    if status not in (_INVALID_OPTION, _COMPILATION_FAILED):
        messages = (*messages, CudaMessage(Severity.ERROR, _status_text(library, status)))
    if not any(m.severity is Severity.ERROR for m in messages):
        messages = (*messages, CudaMessage(Severity.ERROR, _silent_failure(log)))
    if any(m.file == "ptx" for m in messages):
        ptx_lines = ptx_of(text, options, name=name).splitlines()
        messages = tuple(_quote_ptx(m, ptx_lines) for m in messages)
    return NvrtcError(_summary(messages, log), log, messages)


def _silent_failure(log: str) -> str:
    """Ptxas rejects too much static shared memory without a word; its resource line is the only trace."""
    shared = max((int(n) for n in re.findall(r"(\d+) bytes smem", log)), default=0)
    if shared > 48 * 1024:
        return f"static shared memory of {shared} bytes is over the limit of {48 * 1024}"
    return "ptxas failed without a message"


def _quote_ptx(message: CudaMessage, ptx_lines: list[str]) -> CudaMessage:
    if message.file != "ptx" or message.line is None or message.line > len(ptx_lines):
        return message
    return replace(message, excerpt=ptx_lines[message.line - 1])


def _summary(messages: tuple[CudaMessage, ...], log: str) -> str:
    errors = [m for m in messages if m.severity is Severity.ERROR]
    if not errors:
        return log.strip()
    first = errors[0]
    place = f"{first.file}({first.line}): " if first.file is not None else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place}{first.text}{more}"
