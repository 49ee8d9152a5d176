"""Random programs of accesses and barriers: the shadow memory must agree with vector clocks, byte by byte."""

from dataclasses import dataclass

import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, FindingKind, SimulatorOptions, ThreadOrder

pytestmark = pytest.mark.toolchain

THREADS, MEMORY_BYTES = 64, 64
LOAD, STORE, BLOCK, WARP, HALF_WARP = 1, 2, 3, 4, 5
GROUP_THREADS = {BLOCK: 64, WARP: 32, HALF_WARP: 16}


@dataclass(frozen=True)
class Mix:
    """How a program is drawn: share of busy threads, of stores among accesses, of accesses near the own place.

    Threads from `threads` on take part in barriers only.
    """

    busy: float
    stores: float
    near: float
    widths: tuple[int, ...] = (1, 2, 4, 8, 16)
    threads: int = THREADS


def random_program(rng: np.random.Generator, steps: int, mix: Mix) -> np.ndarray:
    """Operation, width and offset of every step and thread: (steps, threads, 3)."""
    program = np.zeros((steps, THREADS, 3), np.int64)
    for step in program:
        if rng.random() < 0.5:
            step[:, 0] = rng.choice([BLOCK, WARP, HALF_WARP], p=[0.4, 0.4, 0.2])
            continue
        operation = np.where(rng.random(THREADS) < mix.stores, STORE, LOAD)
        busy = (rng.random(THREADS) < mix.busy) & (np.arange(THREADS) < mix.threads)
        step[:, 0] = np.where(busy, operation, 0)
        step[:, 1] = rng.choice(mix.widths, THREADS)
        near = rng.random(THREADS) < mix.near
        place = np.where(near, np.arange(THREADS), rng.integers(0, MEMORY_BYTES, THREADS))
        step[:, 2] = place // step[:, 1] * step[:, 1]
    return program


def fill_first(program: np.ndarray) -> None:
    """Make the first two steps a store of every byte and a barrier."""
    program[0] = np.stack([np.full(THREADS, STORE), np.ones(THREADS), np.arange(THREADS)], axis=-1)
    program[1, :, 0] = BLOCK


def is_clean(program: np.ndarray, *, must_be_written: bool) -> bool:
    """Whether all conflicting accesses of one block are ordered, and every load follows a store of each byte."""
    clocks = np.zeros((THREADS, THREADS), np.int64)  # clocks[t, u]: what t has seen of u
    stores: list[list[tuple[int, int]]] = [[] for _ in range(MEMORY_BYTES)]
    loads: list[list[tuple[int, int]]] = [[] for _ in range(MEMORY_BYTES)]
    for now, step in enumerate(program, start=1):
        if step[0, 0] in GROUP_THREADS:
            size = GROUP_THREADS[step[0, 0]]
            for start in range(0, THREADS, size):
                group = slice(start, start + size)
                clocks[range(start, start + size), range(start, start + size)] = now
                clocks[group] = clocks[group].max(axis=0)
            continue
        for thread in np.flatnonzero(step[:, 0]):
            operation, width, offset = step[thread]
            for byte in range(offset, offset + width):
                others = stores[byte] if operation == LOAD else stores[byte] + loads[byte]
                if any(u != thread and when > clocks[thread, u] for u, when in others):
                    return False
                seen = any(u == thread or when <= clocks[thread, u] for u, when in stores[byte])
                if operation == LOAD and must_be_written and not seen:
                    return False
                (loads if operation == LOAD else stores)[byte].append((int(thread), now))
    return True


def blocks_conflict(programs: list[np.ndarray]) -> bool:
    touched = []
    for program in programs:
        sets: dict[int, set[int]] = {LOAD: set(), STORE: set()}
        for operation, width, offset in program.reshape(-1, 3):
            if operation in sets:
                sets[operation] |= set(range(offset, offset + width))
        touched.append(sets)
    return any(a[STORE] & (b[STORE] | b[LOAD]) for i, a in enumerate(touched) for j, b in enumerate(touched) if i != j)


def run(sample, programs: list[np.ndarray], options: SimulatorOptions, *, in_global: bool):
    words = np.stack([p[..., 0] | np.maximum(p[..., 1] - 1, 0) << 4 | p[..., 2] << 8 for p in programs])
    memory = Buffer("memory", np.zeros(MEMORY_BYTES, np.uint8), writable=True)
    arguments = [Buffer("program", words.astype(np.uint32)), memory, len(programs[0]), int(in_global)]
    return sample("script").launch("script", len(programs), THREADS, MEMORY_BYTES, arguments, options)


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize(
    "mix",
    [
        Mix(0.15, 0.5, 0.97, (1,)),
        Mix(0.03, 0.5, 0.8, (4,)),
        Mix(0.03, 0.5, 0.8, (16,)),
        Mix(0.03, 0.5, 0.8),
        Mix(0.05, 0.03, 0.0),
        Mix(0.15, 0.01, 0.0, (8, 16)),
        Mix(0.2, 0.04, 0.0, (16,), 32),
    ],
    ids=str,
)
def test_shared_memory_agrees_with_vector_clocks(sample, mix, blocks):
    rng = np.random.default_rng(blocks)
    verdicts = []
    for seed in range(80):
        programs = [random_program(rng, 10, mix) for _ in range(blocks)]
        for program in programs[: seed % 4]:
            fill_first(program)
        options = SimulatorOptions(thread_order=ThreadOrder(seed // 4 % 4), seed=seed)
        report = run(sample, programs, options, in_global=False)
        clean = all(is_clean(program, must_be_written=True) for program in programs)
        assert report.clean == clean, (seed, [f.message for f in report.findings])
        verdicts.append(clean)
    assert 2 < sum(verdicts) < 78


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("mix", [Mix(0.02, 0.5, 0.8), Mix(0.05, 0.03, 0.0)], ids=str)
def test_global_memory_agrees_with_vector_clocks(sample, mix, blocks):
    rng = np.random.default_rng(blocks)
    verdicts = []
    for seed in range(80):
        programs = [random_program(rng, 6, mix) for _ in range(blocks)]
        options = SimulatorOptions(thread_order=ThreadOrder(seed % 4), seed=seed)
        report = run(sample, programs, options, in_global=True)
        threads_clean = all(is_clean(p, must_be_written=False) for p in programs)
        conflict = blocks_conflict(programs)
        assert report.clean == (threads_clean and not conflict), (seed, [f.message for f in report.findings])
        assert any(f.kind is FindingKind.RACE_BLOCKS for f in report.findings) == conflict
        verdicts.append(report.clean)
    assert 2 < sum(verdicts) < 78
