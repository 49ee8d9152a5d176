import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, SimulatorOptions, ThreadOrder

pytestmark = pytest.mark.toolchain


def shuffle_source(kind: int, lane: int, amount: int, width: int) -> int:
    """Lane that CUDA's shuffle reads, by the text of its programming guide."""
    base = lane // width * width
    if kind == 0:
        return base + amount % width
    if kind == 1:
        return lane - amount if lane - amount >= base else lane
    if kind == 2:
        return lane + amount if lane + amount < base + width else lane
    return lane ^ amount if (lane ^ amount) < base + width else lane


@pytest.mark.parametrize("width", [32, 16, 4, 1])
@pytest.mark.parametrize("amount", [0, 1, 3, 16, 31])
def test_shuffles_read_the_lane_that_cuda_says(sample, amount, width):
    x = np.random.default_rng(0).integers(0, 1 << 32, 64, dtype=np.uint32)
    out = Buffer("out", np.zeros((4, 64), np.uint32), writable=True)
    options = SimulatorOptions(thread_order=ThreadOrder.SEEDED, seed=amount)
    assert sample("collectives").launch("shuffles", 1, 64, 0, [Buffer("x", x), out, amount, width], options).clean
    for kind in range(4):
        sources = [t // 32 * 32 + shuffle_source(kind, t % 32, amount, width) for t in range(64)]
        assert (out.array[kind] == x[sources]).all(), kind


def test_shuffles_carry_every_type(sample):
    out = Buffer("out", np.zeros((5, 32), np.uint64), writable=True)
    assert sample("collectives").launch("shuffle_types", 1, 32, 0, [out]).clean
    t = np.arange(32)
    assert (out.array[0] == (-(t ^ 1).astype(np.float32)).view(np.uint32)).all()
    assert (out.array[1] == ((t ^ 2) * 0.5).view(np.uint64)).all()
    assert (out.array[2] == (-np.minimum(t + 1, 31)).astype(np.uint32)).all()
    assert (out.array[3] == (-(np.maximum(t - 1, 0).astype(np.int64) << 40)).view(np.uint64)).all()
    assert (out.array[4] == np.uint64(0xFF0000000000001F)).all()


@pytest.mark.parametrize("pattern", ["none", "all", "some", "one"])
def test_votes_agree_with_numpy(sample, pattern):
    predicate = {
        "none": np.zeros(64),
        "all": np.full(64, 2),
        "some": np.random.default_rng(1).integers(0, 2, 64),
        "one": np.arange(64) == 37,
    }[pattern].astype(np.uint32)
    out = Buffer("out", np.zeros((6, 64), np.uint32), writable=True)
    assert sample("collectives").launch("votes", 1, 64, 0, [Buffer("x", predicate), out]).clean
    truth = predicate != 0
    warps = truth.reshape(2, 32)
    ballots = [int(sum(1 << lane for lane in range(32) if warp[lane])) for warp in warps]
    assert (out.array[0] == np.repeat(np.array(ballots, np.uint32), 32)).all()
    assert (out.array[1] == np.repeat(warps.any(1), 32)).all()
    assert (out.array[2] == np.repeat(warps.all(1), 32)).all()
    assert (out.array[3:6].T == [truth.any(), truth.all(), truth.sum()]).all()


def test_integer_intrinsics_agree_with_python(sample):
    edges = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xDEADBEEF, 0x00010000]
    a = np.array([x for x in edges for _ in edges], np.uint32)
    b = np.array(edges * len(edges), np.uint32)
    out = Buffer("out", np.zeros((a.size, 12), np.uint32), writable=True)
    arguments = [Buffer("a", a), Buffer("b", b), out, a.size]
    assert sample("collectives").launch("integers", 1, 32, 0, arguments).clean
    for row, x, y in zip(out.array.tolist(), a.tolist(), b.tolist(), strict=True):
        signed_x, signed_y = (v - (v >> 31 << 32) for v in (x, y))
        wide, other = x << 32 | y, y << 32 | x
        table = [x & 255, x >> 8 & 255, x >> 16 & 255, x >> 24, y & 255, y >> 8 & 255, y >> 16 & 255, y >> 24]
        assert row == [
            32 - x.bit_length(),
            x.bit_count(),
            (x & -x).bit_length(),
            x * y >> 32,
            (signed_x * signed_y >> 32) & 0xFFFFFFFF,
            min(x, y),
            max(signed_x, signed_y) & 0xFFFFFFFF,
            int(f"{x:032b}"[::-1], 2),
            (wide * other >> 64) & 0xFFFFFFFF,
            wide * other >> 96,
            64 - wide.bit_length(),
            table[0] | table[4] << 8 | table[2] << 16 | table[6] << 24,
        ]
