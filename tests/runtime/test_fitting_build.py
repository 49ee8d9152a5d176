"""A default schedule that misses its estimate is replaced, at most twice; a chosen one never."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel, leaner_schedules
from agentkern.compiler.schedule import Schedule
from agentkern.runtime import fitting_build
from agentkern.runtime.build import Build
from agentkern.runtime.fitting_build import RETRIES, build_fitting
from agentkern.runtime.nvrtc import NvrtcOptions

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "corpus/quant/per_token_cast_e4m3/kernel.py").read_text(encoding="utf-8")
REQUEST = CompileRequest(TEXT, "kernel.py", dims={"H": 576})


class Toolchain:
    """NVRTC, which reports these spills for the first texts it builds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *spills: int) -> None:
        self.texts: list[str] = []
        self._spills = spills
        self._build = fitting_build.build
        monkeypatch.setattr(fitting_build, "build", self)

    def __call__(self, text: str, options: NvrtcOptions, cache: None, *, with_ptx: bool) -> Build:
        made = self._build(text, options, cache, with_ptx=with_ptx)
        number, self.texts = len(self.texts), [*self.texts, text]
        spilled = self._spills[number] if number < len(self._spills) else 0
        resources = tuple(replace(r, spill_store_bytes=spilled, spill_load_bytes=0) for r in made.resources)
        return replace(made, resources=resources)


def test_a_schedule_that_fits_is_built_once(monkeypatch: pytest.MonkeyPatch):
    toolchain = Toolchain(monkeypatch)
    compiled = compile_kernel(REQUEST)
    made = build_fitting(REQUEST, compiled, None)
    assert len(toolchain.texts) == 1
    assert made.compiled is compiled
    assert made.fit.registers == max(r.registers for r in made.build.resources)
    assert made.fit.expected_registers == compiled.registers > 0


def test_the_first_schedule_without_spills_is_taken_and_named(monkeypatch: pytest.MonkeyPatch):
    toolchain = Toolchain(monkeypatch, 64)
    compiled = compile_kernel(REQUEST)
    made = build_fitting(REQUEST, compiled, None)
    assert len(toolchain.texts) == 2
    assert made.fit.spill_bytes == 0
    assert made.compiled.schedule != compiled.schedule
    assert made.compiled.schedule in leaner_schedules(compiled.kernel, REQUEST.variant, compiled.registers, RETRIES)
    assert made.diagnostics == ()


def test_two_others_are_tried_and_the_one_that_spills_least_is_taken_with_a_warning(monkeypatch: pytest.MonkeyPatch):
    toolchain = Toolchain(monkeypatch, 64, 16, 32)
    made = build_fitting(REQUEST, compile_kernel(REQUEST), None)
    assert len(toolchain.texts) == 1 + RETRIES
    assert made.compiled.cuda == toolchain.texts[1]
    assert [(d.code, d.severity) for d in made.diagnostics] == [("AK612", "warning")]
    assert "16" in made.diagnostics[0].message


def test_a_chosen_schedule_is_never_replaced(monkeypatch: pytest.MonkeyPatch):
    toolchain = Toolchain(monkeypatch, 64, 64, 64)
    compiled = compile_kernel(REQUEST)
    assert isinstance(compiled.schedule, Schedule)
    made = build_fitting(replace(REQUEST, schedule=compiled.schedule), compiled, None)
    assert len(toolchain.texts) == 1
    assert made.compiled is compiled


def test_leaner_schedules_need_fewer_registers_by_the_same_estimate():
    compiled = compile_kernel(REQUEST)
    found = leaner_schedules(compiled.kernel, REQUEST.variant, compiled.registers, 4)
    assert found
    needs = [compile_kernel(replace(REQUEST, schedule=schedule)).registers for schedule in found]
    assert all(need < compiled.registers for need in needs)
    assert needs == sorted(needs, reverse=True)
