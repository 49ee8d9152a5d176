"""Loops and choices in the IR: what the verifier refuses, what the interpreter runs."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import IrError, verify_kernel

TEXT = """agentkern.ir 1
kernel tile @k(%x: in<f32, [N]>, %o: out<f32, [1]>) {} {
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
    %zero = constant() {value = 0.0} : f32
    %two = constant() {value = 2} : i64
    %total = loop(%two, %zero) : f32 {
    ^(%k: block<%k, N, 4, %k.lo>, %acc: f32)
      %tile = load(%x, %k) {index = ["$0"]} : tile<f32, [%k]>
      %sum = sum(%tile) {axes = [0], keepdims = false} : f32
      %next = add(%acc, %sum) : f32
      yield(%next)
    }
    %big = gt(%total, %zero) : bool
    %picked = branch(%big) : f32 {
      yield(%total)
    } {
      yield(%zero)
    }
    %place = constant() {value = 0} : i64
    store(%o, %picked, %place) {index = ["$0"]}
  }
}
"""


def run(x: list[float]) -> float:
    kernel = parse_kernel(TEXT)
    verify_kernel(kernel)
    out = np.zeros(1, np.float32)
    interpret(kernel, {"x": np.array(x, np.float32), "o": out}, {"N": len(x)}, {})
    return float(out[0])


def test_a_loop_begins_at_its_bound_and_a_choice_picks():
    assert run([100, 100, 1, 2, 3, 4, 5, 6]) == 21
    assert run([1, 1, -5]) == 0


def test_a_loop_whose_bounds_cross_keeps_the_first_values():
    assert run([7]) == 0


def test_the_text_reads_back():
    assert print_kernel(parse_kernel(print_kernel(parse_kernel(TEXT)))) == print_kernel(parse_kernel(TEXT))


DAMAGE = [
    ("%acc: f32)", "%acc: f64)", "changes its type"),
    ("      yield(%next)\n", "      yield(%next, %next)\n", "one first value"),
    ("      yield(%next)\n", "", "ends in `yield`"),
    ("{value = 2} : i64", "{value = 2} : i32", "i64 scalars"),
    ("%big = gt(%total, %zero) : bool", "%big = add(%total, %zero) : f32", "no bool scalar"),
    ("    } {\n      yield(%zero)", "    } {\n      yield()", "yields the results' types"),
    ("block<%k, N, 4, %k.lo>, %acc", "block<%k, N, 4>, %acc", "one first value"),
]


@pytest.mark.parametrize(("good", "bad", "message"), DAMAGE)
def test_a_damaged_loop_is_refused(good: str, bad: str, message: str):
    assert TEXT.count(good) == 1
    with pytest.raises(IrError, match=message):
        verify_kernel(parse_kernel(TEXT.replace(good, bad)))
