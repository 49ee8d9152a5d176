"""Where boxes may begin: what a GPU takes runs and is clipped, what it refuses is found at its line."""

import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, FindingKind, SimulatorReport
from tests.runtime.simulator.boxes import box_of

pytestmark = pytest.mark.toolchain

ROWS, COLUMNS = 30, 104
BOX = (8, 64)
SWIZZLES = (0, 128)

# (row, column) as an H200 takes and refuses them.
LOADED = ((0, 0), (0, 8), (0, -8), (0, -16), (-2, 0), (-2, -8), (25, 64), (40, 0), (-40, -400))
NOT_LOADED = ((0, 4), (0, 1), (25, 60), (0, -4), (-2, -7), (40, 1))
STORED = ((0, 0), (5, 8), (25, 0), (0, 88), (25, 88), (40, 0), (0, 400))
NEGATIVE = ((-2, 0), (0, -8), (-1, -8), (-40, 0))
NOT_STORED = ((0, 4), (25, 60), (40, 1))


def unswizzled(image: np.ndarray, swizzle: int) -> np.ndarray:
    """The box as it was before its permutation in shared memory."""
    pieces = image.reshape(BOX[0], 8, 8)
    if swizzle:
        pieces = np.stack([row[np.arange(8) ^ number] for number, row in enumerate(pieces)])
    return pieces.reshape(BOX)


def window(tensor: np.ndarray, at: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """What a box sees at `at`, zero outside, and which of it is inside."""
    rows, columns = at[0] + np.arange(BOX[0])[:, None], at[1] + np.arange(BOX[1])[None, :]
    inside = (rows >= 0) & (rows < ROWS) & (columns >= 0) & (columns < COLUMNS)
    return np.where(inside, tensor[rows.clip(0, ROWS - 1), columns.clip(0, COLUMNS - 1)], 0), inside


def load(module, at: tuple[int, int], swizzle: int) -> tuple[np.ndarray, np.ndarray, SimulatorReport]:
    x = Buffer("x", np.random.default_rng(1).integers(1, 1 << 16, (ROWS, COLUMNS), np.uint16))
    out = Buffer("out", np.zeros(256, np.uint32), writable=True, initialised=False)
    report = module.launch_both("load_at", 1, 32, 1032, [box_of(x, "bf16", BOX, swizzle), out, *at])
    return x.array, unswizzled(out.array.view(np.uint16), swizzle), report


def store(module, at: tuple[int, int], swizzle: int) -> tuple[np.ndarray, SimulatorReport]:
    out = Buffer("out", np.zeros((ROWS, COLUMNS), np.uint16), writable=True)
    return out.array, module.launch_both("store_at", 1, 32, 1024, [box_of(out, "bf16", BOX, swizzle), *at])


def assert_found(report: SimulatorReport, line: int, words: str) -> None:
    found = {(finding.line, finding.kind) for finding in report.findings if words in finding.message}
    assert found == {(line, FindingKind.OPERAND_MISUSE)}, [finding.message for finding in report.findings]


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("at", LOADED)
def test_a_box_is_loaded_with_zeros_outside(sample, at, swizzle):
    x, got, report = load(sample("coordinates"), at, swizzle)
    assert report.clean, report.findings
    assert (got == window(x, at)[0]).all()


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("at", NOT_LOADED)
def test_a_load_that_begins_inside_16_bytes_is_found(sample, marked_line, at, swizzle):
    _, _, report = load(sample("coordinates"), at, swizzle)
    words = f"the innermost coordinate, {at[1]}, begins the box at byte {2 * at[1]} of its row"
    assert_found(report, marked_line("coordinates", "load"), words)


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("at", STORED)
def test_a_box_is_stored_and_clipped_at_the_high_edges(sample, at, swizzle):
    got, report = store(sample("coordinates"), at, swizzle)
    assert report.clean, report.findings
    image = unswizzled(np.repeat(np.arange(1, 257, dtype=np.uint16), 2), swizzle)
    seen, inside = window(got, at)
    assert (seen == np.where(inside, image, 0)).all()
    assert np.count_nonzero(got) == np.count_nonzero(inside)


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("at", NEGATIVE)
def test_a_store_to_a_negative_coordinate_is_found(sample, marked_line, at, swizzle):
    got, report = store(sample("coordinates"), at, swizzle)
    dimension, coordinate = (0, at[1]) if at[1] < 0 else (1, at[0])
    words = f"a store to coordinate {coordinate} of dimension {dimension} "
    assert_found(report, marked_line("coordinates", "store"), words)
    assert not got.any()


@pytest.mark.parametrize("at", NOT_STORED)
def test_a_store_that_begins_inside_16_bytes_is_found(sample, marked_line, at):
    _, report = store(sample("coordinates"), at, 0)
    assert_found(report, marked_line("coordinates", "store"), f"the innermost coordinate, {at[1]}, begins")
