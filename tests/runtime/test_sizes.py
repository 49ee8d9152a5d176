"""Sizes found from shapes satisfy every equation; they are never guessed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.sizes import shape_of, solve_sizes
from tests.runtime.signatures import tensor

EXTENTS = (
    "A", "B", "C", "2 * A", "B + 1", "A + B", "A * B", "3 * C + 2", "A * B + C", "B // 2", "(A + 3) // 4 * 4",
    "C - C // 5", "7",
)  # fmt: skip
NAMES = ("A", "B", "C")
INFOS = tuple(SizeInfo(name) for name in NAMES)
SIZES = st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES})
SHAPES = st.lists(st.lists(st.sampled_from(EXTENTS), max_size=3), min_size=1, max_size=4)


def params_of(shapes: list[list[str]]) -> tuple:
    return tuple(tensor(f"x{i}", "f32", ", ".join(shape)) for i, shape in enumerate(shapes))


def outcome(params: tuple, shapes: dict[str, tuple[int, ...]]) -> dict[str, int] | str:
    """The sizes, or the code of the refusal."""
    try:
        return solve_sizes(params, shapes, INFOS, {})
    except CallError as error:
        return error.code


@settings(max_examples=120, deadline=None)
@given(SHAPES, SIZES)
def test_sizes_of_a_fitting_call_are_found_or_asked_for(shapes: list[list[str]], sizes: dict[str, int]):
    params = params_of(shapes)
    given_shapes = {param.name: shape_of(param, sizes) for param in params}
    # Nothing fits better than the truth, so the only complaint can be that it does not show.
    assert outcome(params, given_shapes) in (sizes, "AK710")


@settings(max_examples=120, deadline=None)
@given(SHAPES, SIZES, st.data())
def test_call_with_one_extent_changed_is_refused_or_fits_other_sizes(
    shapes: list[list[str]], sizes: dict[str, int], data: st.DataObject
):
    params = params_of(shapes)
    given_shapes = {param.name: shape_of(param, sizes) for param in params}
    places = [(param.name, axis) for param in params for axis in range(len(param.shape))]
    if not places:
        return
    name, axis = data.draw(st.sampled_from(places))
    changed = list(given_shapes[name])
    changed[axis] += data.draw(st.sampled_from([1, 5]))
    given_shapes[name] = tuple(changed)
    found = outcome(params, given_shapes)
    if isinstance(found, dict):
        assert all(shape_of(param, found) == given_shapes[param.name] for param in params)
        assert min(found.values()) >= 0


@settings(max_examples=60, deadline=None)
@given(SHAPES, SIZES)
def test_named_sizes_that_fit_are_always_accepted(shapes: list[list[str]], sizes: dict[str, int]):
    params = params_of(shapes)
    assert solve_sizes(params, {param.name: shape_of(param, sizes) for param in params}, INFOS, sizes) == sizes


def test_extent_below_zero_is_refused():
    param = tensor("x", "f32", "A - 4")
    assert shape_of(param, {"A": 4}) == (0,)
    with pytest.raises(CallError) as caught:
        shape_of(param, {"A": 3})
    assert caught.value.code == "AK705"
    assert dims.evaluate(param.shape[0], {"A": 3}) == -1
