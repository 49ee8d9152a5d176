"""What the tools are asked: one typed record per call, the same from Python, the command line and MCP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agentkern.tools.results import Record

Value = bool | int | float
Target = Literal["sm_80", "sm_90a", "sm_100a"]
Numerics = Literal["portable", "nvcc", "fast"]
Device = Literal["cpu", "cuda"]
Emit = Literal["cuda", "ir", "placed", "gpu", "ptx", "sass", "layouts", "proofs", "host"]
Size = Annotated[int, Field(ge=0, lt=1 << 62)]

ON_CPU = "use `--device cpu`, the simulator"
"""What to do without a GPU, for what runs on the CPU too."""
EMITS: tuple[Emit, ...] = ("cuda", "ir", "placed", "gpu", "ptx", "sass", "layouts", "proofs", "host")
TARGETS: tuple[Target, ...] = ("sm_80", "sm_90a", "sm_100a")


class KernelRequest(Record):
    """A kernel: its text, the name messages give the text, which kernel of it, sizes and compile-time values."""

    source: str
    path: str = "kernel.py"
    kernel: str | None = None
    dims: dict[str, Size] = Field(default_factory=dict)
    settings: dict[str, Value] = Field(default_factory=dict)


class InputValues(Record):
    """What an integer input holds: a range without its end, distinct numbers, offsets; extents are texts over sizes."""

    low: int | str | None = None
    high: int | str | None = None
    ignore: int | None = None
    distinct: bool = False
    ignore_same: int | None = None
    end: int | str | None = None


class CheckRequest(KernelRequest):
    """Find every diagnostic, make no code."""


class CompileRequest(KernelRequest):
    """Compile. `is_ir`: `source` is IR text of any stage. `emit`: what to keep beside the CUDA text and the cubin."""

    target: str = "sm_90a"
    numerics: Numerics = "portable"
    schedule: dict[str, Any] | None = None
    is_ir: bool = False
    stop_after: str | None = None
    emit: tuple[Emit, ...] = ()


class RunRequest(KernelRequest):
    """Run once. Inputs that are not given are seeded random; `interp` is the reference interpreter."""

    device: Literal["cpu", "cuda", "interp"] = "cpu"
    target: str = "sm_90a"
    schedule: dict[str, Any] | None = None
    seed: int = 0
