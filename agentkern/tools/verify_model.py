"""What verification runs: calls of a kernel, ways to run one, and what came back. Data and protocols only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from agentkern.compiler.abi import ListParam, ScalarParam, TensorParam, lists_of, params_of
from agentkern.compiler.analysis.promises import Promise, Promises, promises_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.compiler.schedule import Schedule

Arrays = Mapping[str, Raw]
Sizes = Mapping[str, int]
Scalars = Mapping[str, int | float | bool]


class ExecutionError(RuntimeError):
    """A run did not end: a launch was refused, timed out, or the device faulted."""


class TimeLimitError(RuntimeError):
    """A run takes too long here: that says nothing about the kernel."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"a run takes more than {seconds:g} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Call:
    """One call: raw arrays of In and InOut parameters and of what partial outputs hold, every size, every scalar.

    Sizes are the static ones too.
    """

    tensors: Arrays
    sizes: Sizes
    scalars: Scalars


@dataclass(frozen=True, slots=True)
class Case:
    """A named call."""

    name: str
    call: Call


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: the schedule (None: the default), which order of threads and blocks, which poison in the outputs.

    `tracked`: look for races and uninitialised reads too, where the executor can. `strided`: tensors with gaps between
    elements and rows, at addresses that nothing but an element's size divides. `shared`: outputs that are inputs too,
    each with that input.
    """

    schedule: Schedule | None = None
    order: int = 0
    poison: int = 0
    tracked: bool = False
    strided: bool = False
    shared: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What a run left: raw outputs; defects that were observed; guard bands and inputs that were overwritten."""

    outputs: Arrays
    findings: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


class Executor(Protocol):
    """One way to run a kernel."""

    @property
    def device(self) -> str:
        """Return `cpu`, `cuda` or `interp`."""
        ...

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError."""
        ...


@runtime_checkable
class BuildsAhead(Protocol):
    """Whatever builds for several runs at once in less time than for each as it comes."""

    def build_ahead(self, wanted: Sequence[tuple[Sizes, RunOptions]]) -> None:
        """Build what these runs need. What cannot be built is left to the run that meets it."""
        ...


class Program(Protocol):
    """A kernel under verification, at any static sizes."""

    def tile(self, sizes: Sizes) -> Kernel:
        """Return the TILE kernel built for the static ones of `sizes`. Errors: BuildError."""
        ...

    def schedules(self, sizes: Sizes, count: int) -> tuple[Schedule | None, ...]:
        """Return up to `count` different schedules, the default first."""
        ...


class BuildError(RuntimeError):
    """The kernel does not compile at these static sizes; `code` is of the diagnostic that says why."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel's parameters in order."""

    tensors: tuple[TensorParam, ...]
    scalars: tuple[ScalarParam, ...] = field(default=())
    promises: Promises = field(default_factory=dict[str, Promise])
    lists: tuple[ListParam, ...] = ()

    @property
    def inputs(self) -> tuple[TensorParam, ...]:
        """Return the tensors whose contents a caller gives."""
        return tuple(t for t in self.tensors if t.access in ("in", "inout"))

    @property
    def outputs(self) -> tuple[TensorParam, ...]:
        """Return the tensors that a caller reads afterwards."""
        return tuple(t for t in self.tensors if t.access in ("out", "inout"))

    @property
    def partial(self) -> tuple[TensorParam, ...]:
        """Return the outputs of which some elements keep what they held: a call says what that is."""
        partial = {name for name, promise in self.promises.items() if promise.partial}
        return tuple(t for t in self.tensors if t.access == "out" and t.name in partial)

    @property
    def filled(self) -> tuple[TensorParam, ...]:
        """Return the outputs of which every element is written."""
        return tuple(t for t in self.tensors if t.access == "out" and t not in self.partial)


def signature_of(kernel: Kernel) -> Signature:
    """Return the parameters of a TILE kernel."""
    params = params_of(kernel)
    tensors = tuple(param for param in params if isinstance(param, TensorParam))
    scalars = tuple(param for param in params if isinstance(param, ScalarParam))
    return Signature(tensors, scalars, promises_of(kernel), lists_of(kernel))


def concrete(extents: tuple[int | Dim, ...], sizes: Sizes) -> tuple[int, ...]:
    """Return extents as numbers."""
    return tuple(dims.evaluate(extent, sizes) for extent in extents)
