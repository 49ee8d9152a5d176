"""What a simulated launch takes and returns. Holds no behaviour beyond checking and printing its own fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

import numpy as np

_BITMAP_SLACK_BYTES = 8  # the engine reads and writes whole words


class FindingKind(IntEnum):
    """What a launch can do wrong; the numbers are the engine's."""

    OUT_OF_BOUNDS = 0
    MISALIGNED = 1
    READ_ONLY_WRITE = 2
    READ_ONLY_PATH = 3
    WRONG_SPACE = 4
    UNINITIALISED = 5
    RACE_THREADS = 6
    RACE_BLOCKS = 7
    BARRIER_DIVERGENCE = 8
    WARP_DIVERGENCE = 9
    SHUFFLE_SOURCE = 10
    DEADLOCK = 11
    TRAP = 12
    STEP_LIMIT = 13
    TIME_LIMIT = 14
    HOST_FAULT = 15
    STACK_OVERFLOW = 16
    OUT_OF_SHADOW = 17
    MISSING_FENCE = 18
    MBARRIER_MISUSE = 19
    OPERAND_MISUSE = 20
    REGISTERS_IN_FLIGHT = 21
    NEVER_WAITED = 22
    WARPGROUP_DIVERGENCE = 23
    COMPLETION_DEPENDENT = 24


class ThreadOrder(IntEnum):
    """Which thread of a block runs first, and who follows at a barrier."""

    FORWARD = 0
    REVERSE = 1
    SEEDED = 2
    WARP_INTERLEAVED = 3


class BlockOrder(IntEnum):
    """In which order the blocks of a grid run."""

    FORWARD = 0
    REVERSE = 1
    SEEDED = 2


class Completion(IntEnum):
    """When asynchronous copies and products happen: at issue, when something waits for them, or at a random time."""

    EARLIEST = 0
    LATEST = 1
    RANDOM = 2


class Checks(IntEnum):
    """FAST: bounds, alignment, permission, divergence. FULL: also races and uninitialised reads, in shadow memory."""

    FAST = 0
    FULL = 1


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Global memory that a kernel gets a pointer to: the elements of `array`, of any dtype and strides.

    `initialised=False` makes a read of a byte that no launch has written a finding; which bytes have been written
    stays with the Buffer, so a scratch or output Buffer is passed unchanged from launch to launch.
    """

    name: str
    array: np.ndarray
    writable: bool = False
    initialised: bool = True
    initialised_bits: np.ndarray | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bits = None
        if not self.initialised:
            bits = np.zeros(self.span_bytes // 8 + _BITMAP_SLACK_BYTES, np.uint8)
        object.__setattr__(self, "initialised_bits", bits)
        if self.writable and not self.array.flags.writeable:
            raise ValueError(f"buffer `{self.name}` is to be written, but its array is read-only")
        if any(stride < 0 for stride in self.array.strides):
            raise ValueError(f"buffer `{self.name}` has a negative stride")

    @property
    def span_bytes(self) -> int:
        """From the first byte of the first element to the last byte of the last, in bytes."""
        if self.array.size == 0:
            return 0
        last = sum((extent - 1) * stride for extent, stride in zip(self.array.shape, self.array.strides, strict=True))
        return last + self.array.itemsize

    def written_elements(self) -> np.ndarray:
        """Return for each element whether all its bytes are initialised: bool, of the array's shape."""
        if self.initialised_bits is None:
            return np.ones(self.array.shape, np.bool_)
        bits = np.unpackbits(self.initialised_bits, bitorder="little").view(np.bool_)
        shape = (*self.array.shape, self.array.itemsize)
        elements = np.lib.stride_tricks.as_strided(bits, shape, (*self.array.strides, 1))
        return np.asarray(elements.all(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class TensorMapArgument:
    """A tensor map parameter: the memory it describes, and its 128 bytes once the memory has an address."""

    buffer: Buffer
    encode: Callable[[int], bytes]


@dataclass(frozen=True, slots=True, eq=False)
class TableArgument:
    """A parameter of several 64-bit words: pointers to `buffers`, then `numbers`."""

    buffers: tuple[Buffer, ...] = ()
    numbers: tuple[int, ...] = ()


Argument: TypeAlias = Buffer | TensorMapArgument | TableArgument | int | float


def buffers_of(argument: Argument) -> tuple[Buffer, ...]:
    """The memory that an argument points to."""
    match argument:
        case Buffer():
            return (argument,)
        case TensorMapArgument():
            return (argument.buffer,)
        case TableArgument():
            return argument.buffers
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """How to run and what to check.

    `line_map`: line of the .cu -> line of the kernel's source. `blocks`: run only these, in this order.
    `step_limit` counts memory accesses, barriers and warp collectives of all threads.
    """

    checks: Checks = Checks.FULL
    thread_order: ThreadOrder = ThreadOrder.FORWARD
    block_order: BlockOrder = BlockOrder.FORWARD
    completion: Completion = Completion.EARLIEST
    seed: int = 0
    blocks: tuple[int, ...] | None = None
    line_map: Mapping[int, int] = field(default_factory=dict)
    max_findings: int = 32
    step_limit: int = 10_000_000_000
    time_limit_s: float = 60.0
    stack_bytes: int = 256 * 1024

    def __post_init__(self) -> None:
        if self.max_findings < 1 or self.step_limit < 1 or self.time_limit_s <= 0:
            raise ValueError("`max_findings`, `step_limit` and `time_limit_s` are positive")
        if not 16 * 1024 <= self.stack_bytes <= 64 * 1024 * 1024:
            raise ValueError("`stack_bytes` lies between 16 KiB and 64 MiB")
        if not 0 <= self.seed < 1 << 64:
            raise ValueError("`seed` is an unsigned 64-bit number")


@dataclass(frozen=True, slots=True)
class BarrierState:
    """What a barrier still waited for at a deadlock.

    `name`: an mbarrier's byte in shared memory, or a named barrier's number. `pending_bytes` is negative where copies
    brought more than was expected.
    """

    name: int
    parity: int
    phase: int
    missing: int
    count: int
    pending_bytes: int


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """Threads that a deadlock left waiting for the same thing."""

    threads: tuple[int, ...]
    operation: str
    line: int
    kernel_line: int | None
    mask: int | None
    block: int = 0
    barrier: BarrierState | None = None


@dataclass(frozen=True, slots=True)
class OtherAccess:
    """The other side of a race or of a divergence; `thread` is None where it was not kept."""

    block: int
    thread: int | None
    access: str
    line: int
    kernel_line: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect, with the first place it was seen at and how often it was seen.

    `line` is of the .cu, 0 if unknown. `buffer` is a Buffer's name or `shared`; `byte_offset` counts from its start,
    `index` is the element of a global buffer.
    """

    kind: FindingKind
    message: str
    line: int
    kernel_line: int | None
    block: int
    thread: int
    count: int
    buffer: str | None = None
    byte_offset: int | None = None
    index: tuple[int, ...] | None = None
    width: int | None = None
    access: str | None = None
    other: OtherAccess | None = None
    waits: tuple[WaitGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatorStats:
    """Counts of one launch."""

    blocks: int = 0
    steps: int = 0
    switches: int = 0
    barriers: int = 0
    collectives: int = 0
    shadow_bytes: int = 0
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatorReport:
    """The outcome of one launch.

    `n_unrecorded`: occurrences that found no room under `max_findings`. `completed` is false if the launch was stopped
    before all blocks had ended.
    """

    findings: tuple[Finding, ...]
    n_unrecorded: int
    completed: bool
    stats: SimulatorStats

    @property
    def clean(self) -> bool:
        """Whether the launch ran to its end and nothing was found."""
        return self.completed and not self.findings
