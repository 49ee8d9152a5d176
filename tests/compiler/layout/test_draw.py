"""Drawings say what the layout says."""

import xml.etree.ElementTree as ET

from agentkern.compiler.layout.draw import draw_svg, draw_text, holders
from agentkern.compiler.layout.fragments import accumulator, matrix_registers
from agentkern.compiler.layout.layout import distribute, parse_layout

SVG = "{http://www.w3.org/2000/svg}"


def test_small_tile_is_a_grid_of_threads_and_registers() -> None:
    text = draw_text(accumulator(16, 8))
    assert text.splitlines()[:6] == [
        "16 x 8 elements over 32 threads",
        "  registers 2 along axis 1; then 2 along axis 0, 8 apart",
        "  lanes     4 along axis 1, 2 apart; then 8 along axis 0",
        "  warps     one",
        " 0:0  0:1  1:0  1:1  2:0  2:1  3:0  3:1",
        " 4:0  4:1  5:0  5:1  6:0  6:1  7:0  7:1",
    ]
    assert len(text.splitlines()) == 4 + 16


def test_large_tile_is_a_summary() -> None:
    text = draw_text(parse_layout("(2 | 1:8:1 1:7:1024 | 1:32:8 | 1:4:256)"))
    assert text.splitlines() == [
        "1 x 7168 elements over 128 threads",
        "  registers 8 along axis 1; then 7 along axis 1, 1024 apart",
        "  lanes     32 along axis 1, 8 apart",
        "  warps     4 along axis 1, 256 apart",
    ]
    assert draw_svg(parse_layout("(2 | 1:8:1 1:7:1024 | 1:32:8 | 1:4:256)")) is None


def test_copies_and_planes_are_marked() -> None:
    text = draw_text(parse_layout("(1 | | 0:8:1 *:4 | )"))
    assert text.splitlines()[-1] == "0:0+ 1:0+ 2:0+ 3:0+ 4:0+ 5:0+ 6:0+ 7:0+"
    assert "[1, :, :]" in draw_text(matrix_registers(2, transposed=True))


def test_holders_count_every_copy() -> None:
    layout = distribute((3, 5), 2, {})
    held = holders(layout)
    assert sum(holder.count for holder in held.values()) == 64 * layout.register_count
    for at, holder in held.items():
        warp, lane = divmod(holder.thread, 32)
        assert layout.coordinates(holder.register, lane, warp) == at


def test_picture_has_a_labelled_cell_for_every_element() -> None:
    picture = draw_svg(accumulator(64, 16))
    assert picture is not None
    root = ET.fromstring(picture)
    labels = [element.text for element in root.iter(f"{SVG}text")]
    assert len(labels) == len(list(root.iter(f"{SVG}rect"))) == 64 * 16
    assert labels[0] == "0:0" and labels[-1] == "127:7"


def test_value_of_no_axes_is_drawn_in_one_line() -> None:
    assert draw_text(parse_layout("(0 | | *:32 | )")).splitlines()[0] == "one element over 32 threads"
