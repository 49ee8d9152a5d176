"""Kernel text to a compile result, through the cache: the first of its two levels, and the one door for every tool.

Errors of our own compiler end here too: they become AK901 in the result, never an exception.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel, compile_text
from agentkern.compiler.ir.verifier import IrError
from agentkern.diagnostics import Diagnostic, Span, error
from agentkern.runtime.cache import Cache
from agentkern.runtime.cache_keys import ProgramRequest, digest_of, loaded_digest, program_key
from agentkern.runtime.stored_program import can_store, decode_program, encode_program

OUR_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, IrError, LookupError, NameError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""What a bug raises. Not OSError or MemoryError, which speak of the machine."""


def compile_program(request: CompileRequest, cache: Cache | None, *, stop_after: str | None = None) -> CompileResult:
    """Compile, or take the whole result from `cache`; a damaged entry is made anew. Never raises for any text."""
    if cache is None or stop_after is not None:
        return _compiled(request, stop_after)
    key = _key(request, cache)
    parts = cache.get(key)
    known = decode_program(parts) if parts is not None else None
    if known is not None:
        return known
    result = _compiled(request, None)
    if can_store(result):
        cache.put(key, encode_program(result))
    return result


def _compiled(request: CompileRequest, stop_after: str | None) -> CompileResult:
    try:
        return compile_kernel(request, stop_after=stop_after)
    except OUR_ERRORS as e:
        return CompileResult("failed", (our_error(e, request.path),))


def compile_ir(text: str, request: CompileRequest, *, stop_after: str | None = None) -> CompileResult:
    """Compile IR text, without the cache. Never raises for any text."""
    try:
        return compile_text(text, request, stop_after=stop_after)
    except OUR_ERRORS as e:
        return CompileResult("failed", (our_error(e, request.path),))


def our_error(crash: Exception, path: str) -> Diagnostic:
    """Return AK901 for an exception of ours, with the place that raised it."""
    place = traceback.extract_tb(crash.__traceback__)[-1]
    where = f" in {place.name}, {Path(place.filename).name}:{place.lineno}"
    return error("AK901", Span(path), reason=f"{type(crash).__name__}{where}: {crash}".rstrip(": "))


def _key(request: CompileRequest, cache: Cache) -> str:
    values: dict[str, int | float | bool | str] = {f"dim {name}": size for name, size in request.dims.items()}
    values |= {f"set {name}": value for name, value in request.settings.items()}
    values |= {"path": request.path, "alignment": request.variant.alignment}
    values["strided"] = digest_of(*request.variant.strided)
    values["shared"] = digest_of(*(name for pair in request.variant.shared for name in pair))
    schedule = request.schedule.text() if request.schedule is not None else "default"
    package = loaded_digest(cache)
    return program_key(
        ProgramRequest(
            request.source, request.kernel or "", values, request.target, schedule, request.numerics, package
        )
    )
