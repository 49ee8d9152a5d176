"""The row type of the instruction tables: one row is one prelude function around one PTX instruction. Data only.

A row says how the instruction is written, what its operands are, which element every register holds, who executes it
together, and how its completion is seen. Code generation prints prelude functions from rows; the verifier of the GPU
stage and the tests of the simulator read the same rows. Sources name sections of the PTX ISA by title.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.layout.layout import Layout

Family = Literal[
    "mma",
    "wgmma",
    "wgmma_order",
    "ldmatrix",
    "stmatrix",
    "cp_async",
    "tensor_copy",
    "bulk_copy",
    "mbarrier",
    "named_barrier",
    "cluster",
    "fence",
    "registers",
    "election",
]

ParameterKind = Literal[
    "shared", "global", "generic", "tensor_map", "u16", "u32", "i32", "u64", "read", "written", "updated"
]
"""How a parameter is passed: an address (of shared memory, global memory, any space, or a tensor map), a scalar, or an
array of registers by reference that the instruction reads, writes, or reads and writes."""

Executors = Literal["thread", "warp", "warpgroup", "block", "cluster"]

Completion = Literal["at once", "wgmma group", "cp.async group", "bulk group", "mbarrier"]
"""Where the end of the work is seen: before the next instruction of the thread, or at a wait of that mechanism."""

Effect = Literal["value", "convergent", "memory"]
"""`value`: a pure function of its operands. `convergent`: of the operands of all lanes. `memory`: keeps its place among
accesses and barriers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the C++ function, in order. `element` and `count` describe register arrays."""

    name: str
    kind: ParameterKind
    element: str = ""
    count: int = 0
    is_written: bool = False
    """For addresses: whether the instruction writes there."""

    def __post_init__(self) -> None:
        assert (self.kind in ("read", "written", "updated")) == (self.count > 0) == bool(self.element)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Which element each thread's registers hold.

    The layout's registers number a thread's elements; element e lies in 32-bit register e // packed, its bits starting
    at (e % packed) * (32 / packed). Axes are the operand's own: a (m, k), b (k, n), d (m, n).
    """

    layout: Layout
    packed: int

    @property
    def register_count(self) -> int:
        """32-bit registers of one thread."""
        return self.layout.register_count // self.packed

    def coordinates(self, thread: int, register: int, part: int = 0) -> tuple[int, ...]:
        """The element in part `part` of `register` of a thread of the warp or warpgroup."""
        return self.layout.coordinates(register * self.packed + part, thread % 32, thread // 32)


@dataclass(frozen=True, slots=True)
class MatrixOperand:
    """One matrix of a product: in registers (`fragment`), or in shared memory behind a descriptor with the major axis.

    `dtype` is a name of the element type table.
    """

    role: Literal["a", "b", "d"]
    dtype: str
    shape: tuple[int, int]
    fragment: Fragment | None = None
    major: Literal["k", "mn"] | None = None

    def __post_init__(self) -> None:
        assert (self.fragment is None) != (self.major is None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A target that has the instruction but on which the compiler never uses it."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row.

    ptx: the text, `$name` standing for a parameter (a register array with its braces) and `$result` for the result.
    operands: the matrices of a product. data: what a matrix load or store moves. number: the immediate that the name
    carries (groups left in flight, bytes, registers, dimensions). result: C++ type of the result.
    only_targets: the targets that have it, for instructions of architecture-specific targets.
    """

    name: str
    family: Family
    ptx: str
    parameters: tuple[Parameter, ...]
    source: str
    note: str
    result: Literal["void", "bool", "unsigned int", "void*"] = "void"
    min_target: int = 80
    only_targets: tuple[str, ...] = ()
    operands: tuple[MatrixOperand, ...] = ()
    data: Fragment | None = None
    shape_mnk: tuple[int, int, int] | None = None
    number: int | None = None
    executors: Executors = "thread"
    completion: Completion = "at once"
    is_async_proxy: bool = False
    """Whether its accesses of memory go through the async proxy."""
    effect: Effect = "memory"
    refusals: tuple[Refusal, ...] = ()

    def exists_on(self, target: str) -> bool:
        """Whether the target's assembler takes it."""
        if self.only_targets:
            return target in self.only_targets
        return target_number(target) >= self.min_target

    def refusal_on(self, target: str) -> str | None:
        """Why the compiler does not use it on a target that has it; None where it may."""
        return next((r.reason for r in self.refusals if r.target == target), None)

    def operand(self, role: Literal["a", "b", "d"]) -> MatrixOperand:
        """One matrix of a product."""
        return next(o for o in self.operands if o.role == role)


def target_number(target: str) -> int:
    """Compute capability times ten: 90 for `sm_90a`."""
    return int(target.removeprefix("sm_").rstrip("af"))


def address(name: str, kind: Literal["shared", "global", "generic", "tensor_map"]) -> Parameter:
    """An address that the instruction reads from, or a barrier's."""
    return Parameter(name, kind)


def target_address(name: str, kind: Literal["shared", "global"]) -> Parameter:
    """An address that the instruction writes to."""
    return Parameter(name, kind, is_written=True)


def scalar(name: str, kind: Literal["u16", "u32", "i32", "u64"]) -> Parameter:
    """A value in a register."""
    return Parameter(name, kind)


def registers(name: str, kind: Literal["read", "written", "updated"], element: str, count: int) -> Parameter:
    """An array of registers by reference."""
    return Parameter(name, kind, element, count)
