"""Whole compile results come back from the cache as they were; errors of our own are results too."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.compiler.abi import Variant
from agentkern.compiler.driver import CompileRequest, CompileResult
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.schedule import GridSchedule, Schedule
from agentkern.runtime import programs
from agentkern.runtime.cache import Cache
from agentkern.runtime.programs import compile_ir, compile_program

ROOT = Path(__file__).parents[2]
CORPUS = (
    ("corpus/elementwise/vector_add/kernel.py", {}),
    ("corpus/norm/rms_norm/kernel.py", {"H": 576}),
    ("corpus/quant/per_token_cast_e4m3/kernel.py", {"H": 576}),
)


def request(path: str = CORPUS[1][0], dims: dict[str, int] | None = None) -> CompileRequest:
    return CompileRequest((ROOT / path).read_text(encoding="utf-8"), path, dims={"H": 576} if dims is None else dims)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[CompileRequest]:
    """Requests that reached the compiler."""
    asked: list[CompileRequest] = []
    compile_kernel = programs.compile_kernel

    def noted(wanted: CompileRequest, *, stop_after: str | None = None) -> CompileResult:
        asked.append(wanted)
        return compile_kernel(wanted, stop_after=stop_after)

    monkeypatch.setattr(programs, "compile_kernel", noted)
    return asked


@pytest.mark.parametrize(("path", "dims"), CORPUS)
def test_the_second_result_is_the_first(path: str, dims: dict[str, int], cache: Cache, compiled: list[CompileRequest]):
    first, second = (compile_program(request(path, dims), cache) for _ in range(2))
    assert len(compiled) == 1
    same = ("status", "diagnostics", "texts", "lines", "abi", "schedule", "proofs", "kernel_id", "registers")
    assert [getattr(second, name) for name in same] == [getattr(first, name) for name in same]
    assert first.kernel is not None
    assert second.kernel is not None
    assert print_kernel(second.kernel) == print_kernel(first.kernel)
    assert second.kernel.attrs == first.kernel.attrs
    assert second.kernel.sizes == first.kernel.sizes


@pytest.mark.parametrize(
    "change",
    [
        {"dims": {"H": 577}},
        {"target": "sm_80"},
        {"variant": Variant(alignment=8)},
        {"variant": Variant(strided=("x",))},
        {"schedule": Schedule((GridSchedule((1,), 4, 1, 1),))},
        {"path": "other.py"},
        {"kernel": "rms_norm"},
    ],
)
def test_every_part_of_a_request_counts(change: dict[str, object], cache: Cache, compiled: list[CompileRequest]):
    compile_program(request(), cache)
    compile_program(replace(request(), **change), cache)
    assert len(compiled) == 2


def test_a_damaged_entry_is_made_anew(cache: Cache, compiled: list[CompileRequest], tmp_path: Path):
    first = compile_program(request(), cache)
    entry = max(tmp_path.rglob("v1/*/*"), key=lambda p: p.stat().st_size)
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)
    assert compile_program(request(), cache).cuda == first.cuda
    assert len(compiled) == 2
    compile_program(request(), cache)
    assert len(compiled) == 2


def test_an_entry_that_does_not_read_back_is_made_anew(
    cache: Cache, compiled: list[CompileRequest], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(programs, "encode_program", lambda _result: {"meta": b"{}"})
    compile_program(request(), cache)
    monkeypatch.undo()
    assert compile_program(request(), cache).status == "ok"


def test_wrong_kernels_are_not_stored(cache: Cache, compiled: list[CompileRequest]):
    wrong = replace(request(), source="import agentkern as ak\n@ak.kernel\ndef k(x):\n    pass\n")
    results = [compile_program(wrong, cache) for _ in range(2)]
    assert len(compiled) == 2
    assert all(r.status != "ok" for r in results)


@pytest.mark.parametrize("crash", [AssertionError("no way"), KeyError("H"), RecursionError("deep"), NameError("x")])
def test_an_error_of_our_own_is_a_diagnostic(crash: Exception, cache: Cache, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> CompileResult:
        raise crash

    monkeypatch.setattr(programs, "compile_kernel", broken)
    monkeypatch.setattr(programs, "compile_text", broken)
    for result in (compile_program(request(), cache), compile_ir("", request())):
        assert result.status == "failed"
        assert [d.code for d in result.diagnostics] == ["AK901"]
        assert type(crash).__name__ in result.diagnostics[0].message
        assert "in broken" in result.diagnostics[0].message


def test_a_lack_of_the_machine_is_not_called_our_error(monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> CompileResult:
        raise OSError("disk full")

    monkeypatch.setattr(programs, "compile_kernel", full)
    with pytest.raises(OSError, match="disk full"):
        compile_program(request(), None)
