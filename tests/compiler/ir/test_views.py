"""Views on accesses: their text reads back, their steps are held to what a view is, their strides are what NumPy has."""

import itertools

import numpy as np
import pytest

from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.compiler.ir.views import View, ViewError, granule, spelled_view, strided
from agentkern.dsl.dtypes import DTYPES

TEXT = """\
agentkern.ir 1
kernel tile @k(%x: in<f32, [T, 8], [12, 1], 16>, %o: out<f32, [8 * T]>) {{source_name = "k.py"}} {{
  size T {{static = false, multiple_of = 1, minimum = 0, maximum = none}}
  grid() {{
  ^(%t: block<%t, T>)
    %a = load(%x, %t) {{index = ["$0", ":"], view = {load}}} : tile<f32, [%t, 4]>
    store(%o, %a, %t) {{index = ["$0", ":"], view = {store}}}
  }}
}}
"""
LOAD, STORE = (
    '[["slice", [0, 4], [T, 8]]]',
    '[["reshape", [T, 2, 4]], ["slice", [0, 1, 0], [T, 2, 4]], ["reshape", [T, 4]]]',
)


def test_views_and_layouts_read_back_equal():
    text = TEXT.format(load=LOAD, store=STORE)
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    assert print_kernel(kernel) == text
    assert kernel.params[0].type == TensorType(DTYPES["f32"], kernel.params[0].type.shape, "in", (12, 1), 16)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        ('[["slice", [0, 3], [T, 8]]]', "the subscript selects"),
        ('[["slice", [0], [T]]]', "one start and stop per axis"),
        ('[["reshape", [T, 4]]]', "different numbers of elements"),
        ('[["reshape", [8 * T]]]', "do not lie one after another"),
        ('[["transpose", [0, 0]]]', "not a permutation"),
        ('[["bitcast", "f24"]]', "bits"),
        ('[["bitcast", "bool"]]', "bits"),
        ('[["transpose", [1, 0]], ["bitcast", "u64"]]', "neighbours along the last axis"),
        ('[["flip"]]', "no step of a view"),
        ('[["slice", [0, 0]]]', "no step of a view"),
        ("[[]]", "no step of a view"),
        ("[3]", "no view"),
        ("3", "no view"),
        ('[["reshape", 8]]', "no tuple of extents"),
    ],
)
def test_what_is_no_view_is_rejected(load: str, reason: str):
    with pytest.raises(IrError, match=reason):
        verify_kernel(parse_kernel(TEXT.format(load=load, store=STORE)))


STEPS: tuple[tuple[object, ...], ...] = (
    ("reshape", (2, 3, 8)), ("reshape", (6, 2, 4)), ("reshape", (48,)), ("reshape", (3, 16)), ("transpose", (1, 0)),
    ("transpose", (2, 0, 1)), ("slice", (1, 2), (5, 8)), ("slice", (0, 0, 4), (2, 3, 8)), ("bitcast", "u8"),
    ("bitcast", "u64"), ("bitcast", "f32"),
)  # fmt: skip


def numpy_view(array: np.ndarray, view: View) -> np.ndarray:
    """The view as NumPy makes it, which must not copy. Errors: ValueError."""
    for name, *given in view:
        if name == "slice":
            low, high = given
            if len(low) != array.ndim or any(b > n for b, n in zip(high, array.shape, strict=True)):  # pyright: ignore[reportArgumentType]
                raise ValueError("no such slice")
            array = array[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]  # pyright: ignore[reportArgumentType]
        elif name == "bitcast":
            array = array.view({"u8": np.uint8, "u64": np.uint64, "f32": np.uint32}[str(given[0])])
        elif name == "transpose":
            array = array.transpose(given[0])  # pyright: ignore[reportArgumentType]
        else:
            found = array.reshape(given[0])  # pyright: ignore[reportArgumentType]
            if not np.may_share_memory(found, array):
                raise ValueError("a copy")
            array = found
    return array


@pytest.mark.parametrize("count", [1, 2, 3])
def test_strides_are_those_of_numpy_or_neither_has_any(count: int):
    base = np.arange(48, dtype=np.uint32).reshape(6, 8)
    type_ = TensorType(DTYPES["u32"], (6, 8), "in")
    compared = 0
    for view in itertools.product(STEPS, repeat=count):
        try:
            wanted = numpy_view(base, view)
        except ValueError:
            wanted = None
        try:
            found = strided(type_, view)
        except ViewError:
            found = None
        if wanted is None or found is None:
            # NumPy reads past what it may not widen from a stride of its own only where there is one element
            assert wanted is None or (found is None and wanted.shape[-1] == 1), view
            continue
        offset = (wanted.ctypes.data - base.ctypes.data) // wanted.itemsize
        assert (found.shape, found.offset) == (wanted.shape, offset), view
        strides = [s // wanted.itemsize for s, n in zip(wanted.strides, wanted.shape, strict=True) if n > 1]
        assert [s for s, n in zip(found.strides, found.shape, strict=True) if n != 1] == strides, view
        compared += 1
    assert compared > 5


def test_a_view_is_spelled_as_a_kernel_spells_it():
    type_ = TensorType(DTYPES["f32"], (6, 8), "in")
    view: View = (("slice", (0, 2), (6, 8)), ("transpose", (1, 0)), ("bitcast", "i32"), ("reshape", (2, 3, 6)))
    assert spelled_view("x", type_, view) == "x[:, 2:].transpose(1, 0).bitcast(ak.i32).reshape(2, 3, 6)"


def test_the_granule_is_the_widest_element_of_a_view():
    type_ = TensorType(DTYPES["u8"], (6, 8), "in")
    assert (granule(type_, ()), granule(type_, (("bitcast", "u32"), ("bitcast", "u8")))) == (1, 4)
