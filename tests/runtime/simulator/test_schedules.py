import threading

import numpy as np
import pytest

from agentkern.runtime.simulator import BlockOrder, Buffer, Checks, SimulatorOptions, ThreadOrder

pytestmark = pytest.mark.toolchain


def ran(sample, grid: int, **options) -> list[int]:
    """Threads, as block * 64 + thread, in the order in which they ran."""
    out = Buffer("out", np.zeros(64 * grid, np.uint32), writable=True)
    counter = Buffer("counter", np.zeros(1, np.uint32), writable=True)
    options = SimulatorOptions(checks=Checks.FAST, **options)
    assert sample("collectives").launch("tickets", grid, 64, 0, [counter, out], options).clean
    return out.array.tolist()


def test_threads_run_forward_and_in_reverse(sample):
    assert ran(sample, 1) == list(range(64))
    assert ran(sample, 1, thread_order=ThreadOrder.REVERSE) == list(range(63, -1, -1))


def test_warps_are_interleaved_lane_by_lane(sample):
    order = ran(sample, 1, thread_order=ThreadOrder.WARP_INTERLEAVED)
    assert order[:6] == [0, 32, 1, 33, 2, 34]


def test_seeded_orders_are_permutations_that_repeat(sample):
    first, again, other = (ran(sample, 8, thread_order=ThreadOrder.SEEDED, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == list(range(512))
    assert first != sorted(first)


def test_blocks_run_in_the_order_asked(sample):
    blocks = {order: [t // 64 for t in ran(sample, 7, block_order=order, seed=9)[::64]] for order in BlockOrder}
    assert blocks[BlockOrder.FORWARD] == list(range(7))
    assert blocks[BlockOrder.REVERSE] == list(range(6, -1, -1))
    assert sorted(blocks[BlockOrder.SEEDED]) == list(range(7))
    assert blocks[BlockOrder.SEEDED] != list(range(7))


def test_chosen_blocks_alone_run(sample):
    assert [t // 64 for t in ran(sample, 7, blocks=(5, 2))[:128:64]] == [5, 2]


@pytest.mark.parametrize("rows", [1, 2, 3, 64])
@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_row_sum_has_the_same_bits_under_every_schedule(sample, rows, threads):
    x = np.random.default_rng(rows).standard_normal((rows, 1032)).astype(np.float32)
    bits = Buffer("x", (x.view(np.uint32) >> 16).astype(np.uint16))
    results = set()
    for thread_order in ThreadOrder:
        for block_order in BlockOrder:
            out = Buffer("out", np.zeros(rows, np.float32), writable=True, initialised=False)
            options = SimulatorOptions(thread_order=thread_order, block_order=block_order, seed=rows)
            shared = threads // 32 * 4
            report = sample("row_sum").launch("row_sum", rows, threads, shared, [bits, out, rows, 1032], options)
            assert report.clean, report.findings
            results.add(out.array.tobytes())
    assert len(results) == 1


def test_launches_from_several_python_threads_are_safe(sample):
    module = sample("row_sum")
    x = np.ones((16, 256), np.uint16) * 0x3F80
    failures = []

    def work() -> None:
        for _ in range(5):
            out = Buffer("out", np.zeros(16, np.float32), writable=True, initialised=False)
            report = module.launch("row_sum", 16, 64, 8, [Buffer("x", x), out, 16, 256])
            if not report.clean or (out.array != 256).any():
                failures.append(report)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
