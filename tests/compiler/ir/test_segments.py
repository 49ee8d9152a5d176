"""A grid over segments: its operands, its numbering block and its rows fit together, or the verifier says what does not."""

import pytest

from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.segments import segment_axes
from agentkern.compiler.ir.verifier import IrError, verify_kernel

TEXT = """agentkern.ir 1
kernel tile @k(%x: in<f32, [T]>, %o: in<i32, [E + 1]>, %f: in<f32, [E + 1]>, %p: in<i32, [E + 1, 2]>) {} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  size E {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid(%o) {segments = [[0, T]]} {
  ^(%s: block<%s, E, 1>, %m: block<%m, %s.length + %s.start, 16, %s.start>)
    %a = load(%x, %m) {index = ["$0"]} : tile<f32, [%m]>
    %b = load(%x) {index = ["%s.start:%s.length + %s.start"]} : tile<f32, [%s.length]>
  }
}
"""
WRONG = [
    ("grid(%o) {segments", "grid() {segments", "0 tensors of offsets"),
    (" {segments = [[0, T]]}", "", "1 tensors of offsets"),
    ("grid(%o) {segments = [[0, T]]}", "grid(%o, %o) {segments = [[0, T], [0, T]]}", "2 tensors of offsets"),
    ("[[0, T]]", "[[2, T]]", "segments at [2]"),
    ("[[0, T]]", "[[1, T]]", "does not number"),
    ("[[0, T]]", "[[0]]", "wrong kind"),
    ("grid(%o)", "grid(%f)", "offsets are"),
    ("grid(%o)", "grid(%p)", "offsets are"),
    ("%s: block<%s, E, 1>", "%s: block<%s, E + 1, 1>", "does not number"),
    ("%s: block<%s, E, 1>", "%s: block<%s, E>", "does not number"),
    ("16, %s.start>", "16, %s.start + 1>", "does not run over"),
    ("%m: block<%m, %s.length + %s.start, 16, %s.start>", "%m: block<%m, %s.length, 16>", "does not run over"),
    ("16, %s.start>)", "16, %s.start>, %n: block<%n, %s.length + %s.start, 8, %s.start>)", "several blocks"),
]


def test_a_grid_over_segments_is_read_back_and_verified():
    kernel = parse_kernel(TEXT)
    verify_kernel(kernel)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    (axis,) = segment_axes(kernel.body[0])
    assert (axis.block.name, axis.rows and axis.rows.name, axis.offsets.name, str(axis.end)) == ("s", "m", "o", "T")


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_what_does_not_fit_is_refused(old: str, new: str, message: str):
    assert old in TEXT
    with pytest.raises(IrError) as found:
        verify_kernel(parse_kernel(TEXT.replace(old, new)))
    assert message in str(found.value)
