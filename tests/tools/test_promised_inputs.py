"""Inputs that keep promises, and promises that are found broken."""

import numpy as np
import pytest

from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir import dims
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.promises import broken_promise
from agentkern.tools.inputs import KINDS, generate
from agentkern.tools.promised_inputs import ImpossiblePromise, keep_promises

SIZES = {"S": 40}
S = dims.symbol("S")
PROMISES = {
    "a range": Promise(low=0, high=S),
    "a range and an ignored value": Promise(low=2, high=S, ignore=-1),
    "distinct values": Promise(distinct=True),
    "distinct values of a range": Promise(low=0, high=S, distinct=True),
    "distinct values, some ignored": Promise(low=0, high=S, ignore=-1, distinct=True, ignore_same=-1),
    "offsets": Promise(end=S),
}


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_made_inputs_keep_their_promise(name: str, kind: str, dtype: str):
    promises = {"x": PROMISES[name]}
    for count in (3, 40):
        given = {"x": generate(kind, DTYPES[dtype], (count,), 0, "x")}
        made = keep_promises(promises, given, SIZES)
        assert made["x"].dtype == given["x"].dtype
        assert broken_promise(promises, made, SIZES) is None


def test_every_value_of_a_range_can_occur():
    given = {"x": generate("random", DTYPES["i32"], (4000,), 0, "x")}
    made = keep_promises({"x": PROMISES["a range and an ignored value"]}, given, SIZES)["x"]
    assert set(made.tolist()) == {-1, *range(2, 40)}


def test_more_places_than_values_are_ignored_or_impossible():
    given = {"x": np.arange(100, dtype=np.int32)}
    made = keep_promises({"x": PROMISES["distinct values, some ignored"]}, given, SIZES)["x"]
    assert broken_promise({"x": PROMISES["distinct values, some ignored"]}, {"x": made}, SIZES) is None
    with pytest.raises(ImpossiblePromise):
        keep_promises({"x": PROMISES["distinct values of a range"]}, given, SIZES)
    with pytest.raises(ImpossiblePromise):
        keep_promises({"x": PROMISES["a range"]}, given, {"S": 0})
    with pytest.raises(ImpossiblePromise):
        keep_promises({"x": PROMISES["offsets"]}, {"x": given["x"][:1]}, SIZES)


@pytest.mark.parametrize(
    ("name", "values", "how"),
    [
        ("a range", [0, 39, 40], "value 40 at 2 is not in 0 to 39"),
        ("a range and an ignored value", [-1, 2, 1], "value 1 at 2 is not in 2 to 39"),
        ("distinct values", [3, 1, 3], "value 3 occurs twice"),
        ("distinct values, some ignored", [-1, -1, 5, 5], "value 5 occurs twice"),
        ("offsets", [0, 3, 2, 40], "the offsets do not run from 0 to 40"),
        ("offsets", [0, 3, 39], "the offsets do not run from 0 to 40"),
    ],
)
def test_a_broken_promise_is_named(name: str, values: list[int], how: str):
    assert broken_promise({"x": PROMISES[name]}, {"x": np.asarray(values, np.int32)}, SIZES) == ("x", how)
