"""Memory that is sorted in place: what the verifier takes, and what the interpreter makes of it."""

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import IrError, verify_kernel

TEXT = """agentkern.ir 1
kernel tile @k(%x: in<i64, [T, N]>, %m: scratch<i64, [2, T, N, 4]>, %f: scratch<f64, [2, T, N, 4]>) {} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%t: block<%t, T>)
    %i = arange() : tile<i64, [N]>
    %one = constant() {value = 1} : i64
    OP
  }
}
"""
WHOLE = 'sort_kept(%m, %t) {index = [":", "$0", ":", "0:2"], axis = 2, arrays = 2}'


def verified(op: str) -> None:
    verify_kernel(parse_kernel(TEXT.replace("OP", op)))


@pytest.mark.parametrize(
    ("near_miss", "reason"),
    [
        (WHOLE.replace("%m", "%x").replace('":", "$0", ":", "0:2"', '"$0", ":"'), "no memory of a block's own"),
        (WHOLE.replace("%m", "%f"), "no memory of a block's own"),
        (WHOLE.replace("arrays = 2", "arrays = 3"), "3 arrays"),
        (WHOLE.replace('":", "$0"', '"0:1", "$0"'), "2 arrays"),
        (WHOLE.replace("axis = 2", "axis = 0"), "axis 0"),
        (WHOLE.replace("axis = 2", "axis = 4"), "axis 4"),
        (WHOLE.replace("%t)", "%t, %i)").replace('":", "0:2"', '"@1", "0:2"'), "other than blocks"),
        (WHOLE.replace(', "0:2"', ""), "subscripts"),
    ],
)
def test_what_sorts_other_than_a_row_of_memory_is_refused(near_miss: str, reason: str) -> None:
    verified(WHOLE)
    with pytest.raises(IrError, match=reason):
        verified(near_miss)


def test_one_array_is_one_version_and_two_decide_one_after_the_other() -> None:
    verified('sort_kept(%m, %one, %t) {index = ["$0", "$1", ":", ":"], axis = 1, arrays = 1}')
    verified('sort_kept(%m, %t) {index = [":", "$0", ":", ":"], axis = 3, arrays = 2}')


def test_memory_is_ordered_by_the_first_array_then_by_the_second() -> None:
    text = """agentkern.ir 1
kernel tile @k(%x: in<i64, [2, N]>, %o: out<i64, [2, N]>, %m: scratch<i64, [2, N]>) {source_name = "k.py"} {
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
    %v = load(%x) {index = [":", ":"]} : tile<i64, [2, N]>
    store(%m, %v) {index = [":", ":"]}
    sort_kept(%m) {index = [":", "0:N"], axis = 1, arrays = 2}
    %w = load(%m) {index = [":", ":"]} : tile<i64, [2, N]>
    store(%o, %w) {index = [":", ":"]}
  }
}
"""
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    x = np.array([[3, 1, 3, -2, 1], [5, 9, 4, 7, 8]], np.int64)
    o = np.zeros_like(x)
    interpret(kernel, {"x": x, "o": o}, {"N": 5}, {})
    assert o.tolist() == [[-2, 1, 1, 3, 3], [7, 8, 9, 4, 5]]
