"""A call is bound as a whole, or refused with a code and the parameter's name."""

import numpy as np
import pytest
import torch

from agentkern.compiler.abi import KernelAbi, ScalarParam, Variant
from agentkern.compiler.ir.core import SizeInfo
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.signature import Signature
from agentkern.runtime.tensor_view import Device
from agentkern.runtime.tensors import BoundCall, bind_call, check_variant, variant_of
from tests.runtime.signatures import NORM, signature, tensor


def refused(sig: Signature, *positional: object, in_place: frozenset[str] = frozenset(), **named: object) -> CallError:
    with pytest.raises(CallError) as caught:
        bind_call(sig, positional, named, in_place=in_place)
    return caught.value


def built(sig: Signature, variant: Variant) -> KernelAbi:
    return KernelAbi(sig.name, sig.params, sig.sizes, sig.statics, (), variant)


def bound(sig: Signature, *positional: object, in_place: frozenset[str] = frozenset(), **named: object) -> BoundCall:
    return bind_call(sig, positional, named, in_place=in_place)


def test_torch_call_is_bound_with_its_sizes_and_default():
    call = bound(NORM, torch.zeros(3, 5), torch.zeros(5), torch.zeros(3, 5))
    assert call.sizes == {"T": 3, "H": 5}
    assert call.scalar("eps").value == np.float32(1e-6)
    assert call.device == Device("cpu")
    assert call.strided == ()


def test_output_left_out_is_allocated_in_the_callers_library():
    from_torch = bound(NORM, torch.zeros(3, 5), torch.zeros(5))
    from_numpy = bound(NORM, np.zeros((3, 5), np.float32), np.zeros(5, np.float32), out=None)
    assert isinstance(from_torch.outputs["out"], torch.Tensor)
    assert isinstance(from_numpy.outputs["out"], np.ndarray)
    assert from_torch.tensor("out").view.shape == from_numpy.tensor("out").view.shape == (3, 5)
    assert from_torch.tensor("out").allocated


def test_scratch_is_allocated_and_cannot_be_given():
    sig = signature(tensor("x", "f32", "T"), tensor("partial", "f32", "T, 2", "scratch"))
    assert bound(sig, torch.zeros(4)).tensor("partial").view.shape == (4, 2)
    assert refused(sig, torch.zeros(4), partial=torch.zeros(4, 2)).code == "AK706"


@pytest.mark.parametrize(
    ("positional", "named", "text"),
    [
        ((), {}, "argument `x` is missing"),
        ((torch.zeros(3, 5),), {"wieght": torch.zeros(5)}, "is `weight` meant"),
        ((torch.zeros(3, 5), torch.zeros(5)), {"x": torch.zeros(3, 5)}, "`x` is given twice"),
        ((1, 2, 3, 4, 5), {}, "5 arguments for 4 parameters"),
    ],
)
def test_names_that_do_not_fit_are_refused(positional: tuple[object, ...], named: dict[str, object], text: str):
    error = refused(NORM, *positional, **named)
    assert error.code == "AK706"
    assert text in error.message
    assert error.hint == "the call is `k(x, weight, out=None, eps=1e-06)`"


def test_object_that_is_no_tensor_is_refused():
    error = refused(NORM, [1.0, 2.0], torch.zeros(5))
    assert (error.code, error.field("name"), error.field("got")) == ("AK702", "x", "a `list`")


def test_other_dtype_is_refused_by_name():
    error = refused(NORM, torch.zeros(3, 5, dtype=torch.bfloat16), torch.zeros(5))
    assert error.message == "argument `x` is bfloat16, expected f32"


def test_dtype_that_the_language_lacks_is_refused():
    assert refused(NORM, torch.zeros(3, 5, dtype=torch.complex64), torch.zeros(5)).code == "AK702"


def test_raw_numpy_words_stand_for_a_dtype_that_numpy_lacks():
    sig = signature(tensor("x", "bf16", "T"), tensor("y", "e4m3", "T"))
    call = bound(sig, np.zeros(4, np.uint16), np.zeros(4, np.uint8))
    assert call.sizes == {"T": 4}
    assert refused(sig, np.zeros(4, np.int16), np.zeros(4, np.uint8)).code == "AK702"


def test_raw_torch_words_do_not_stand_for_a_dtype_that_torch_has():
    sig = signature(tensor("x", "bf16", "T"))
    assert refused(sig, torch.zeros(4, dtype=torch.uint16)).code == "AK702"


def test_other_rank_is_refused_with_the_expected_shape():
    error = refused(NORM, torch.zeros(15), torch.zeros(5))
    assert error.message == "argument `x` has 1 axes, expected 2: [T, H]"


def test_extents_that_disagree_are_refused_with_the_size_that_they_break():
    error = refused(NORM, torch.zeros(3, 5), torch.zeros(4))
    assert error.code == "AK705"
    assert error.message == "argument `weight`: axis 0 is 4, expected 5 (`H` with H = 5)"


def test_given_output_of_another_shape_is_refused():
    assert refused(NORM, torch.zeros(3, 5), torch.zeros(5), torch.zeros(5, 3)).code == "AK705"


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (1, 1), (7, 13)])
def test_every_extent_is_bound(shape: tuple[int, int]):
    call = bound(NORM, torch.zeros(shape), torch.zeros(shape[1]))
    assert (call.sizes["T"], call.sizes["H"]) == shape
    assert call.tensor("out").view.shape == shape
    assert call.alignment == 16


def test_size_is_solved_from_an_expression():
    sig = signature(tensor("offsets", "i32", "E + 1"), tensor("x", "f32", "2 * H, E"))
    assert bound(sig, torch.zeros(9, dtype=torch.int32), torch.zeros(6, 8)).sizes == {"E": 8, "H": 3}


def test_extent_that_no_size_gives_is_refused():
    sig = signature(tensor("x", "f32", "2 * H"))
    error = refused(sig, torch.zeros(7))
    assert error.message == "argument `x`: axis 0 is 7, expected `2 * H`"
    empty = signature(tensor("offsets", "i32", "E + 1"))
    assert refused(empty, torch.zeros(0, dtype=torch.int32)).code == "AK705"


def test_size_that_nothing_shows_must_be_named():
    sig = signature(tensor("x", "f32", "T"), tensor("out", "f32", "T, K", "out"))
    error = refused(sig, torch.zeros(3))
    assert error.code == "AK710"
    assert "`K=...`" in error.hint
    assert bound(sig, torch.zeros(3), K=4).tensor("out").view.shape == (3, 4)


def test_size_behind_a_division_must_be_named_and_is_then_checked():
    sig = signature(tensor("x", "f32", "Y // 2"))
    assert refused(sig, torch.zeros(3)).code == "AK710"
    assert bound(sig, torch.zeros(3), Y=7).sizes == {"Y": 7}
    assert refused(sig, torch.zeros(3), Y=8).code == "AK705"


def test_product_of_sizes_is_solved_once_one_of_them_is_known():
    sig = signature(tensor("x", "f32", "B * S"), tensor("y", "f32", "B"))
    assert bound(sig, torch.zeros(12), torch.zeros(3)).sizes == {"B": 3, "S": 4}
    assert refused(sig, torch.zeros(13), torch.zeros(3)).code == "AK705"
    assert refused(sig, torch.zeros(0), torch.zeros(0)).code == "AK710"
    assert bound(sig, torch.zeros(0), torch.zeros(0), S=4).sizes == {"B": 0, "S": 4}


@pytest.mark.parametrize(
    ("info", "good", "bad"),
    [
        (SizeInfo("T", multiple_of=64), 128, 100),
        (SizeInfo("T", minimum=1), 1, 0),
        (SizeInfo("T", maximum=100), 100, 101),
    ],
)
def test_promises_about_a_size_are_checked(info: SizeInfo, good: int, bad: int):
    sig = signature(tensor("x", "f32", "T"), sizes=(info,))
    assert bound(sig, torch.zeros(good)).sizes == {"T": good}
    error = refused(sig, torch.zeros(bad))
    assert (error.code, error.field("name"), error.field("got")) == ("AK708", "T", str(bad))


def test_static_size_holds_for_tensors_and_names():
    sig = signature(tensor("x", "f32", "T, H"), statics=(("H", 8),))
    assert bound(sig, torch.zeros(2, 8)).sizes == {"T": 2, "H": 8}
    assert refused(sig, torch.zeros(2, 9)).code == "AK705"
    assert refused(sig, torch.zeros(2, 8), H=9).code == "AK708"


@pytest.mark.parametrize("value", [-1, True, 2.0, "4"])
def test_size_that_is_no_count_is_refused(value: object):
    sig = signature(tensor("x", "f32", "T"), tensor("out", "f32", "K", "out"))
    assert refused(sig, torch.zeros(3), K=value).code == "AK707"


def test_view_that_is_not_contiguous_is_bound_as_strided():
    call = bound(NORM, torch.zeros(5, 3).T, torch.zeros(5))
    assert call.strided == ("x",)
    check_variant(built(NORM, Variant(strided=("x",), alignment=4)), call)
    with pytest.raises(CallError, match="AK704"):
        check_variant(built(NORM, Variant(alignment=4)), call)


def test_stride_of_an_axis_of_extent_one_does_not_matter():
    x = torch.zeros(1, 100)[:, :5]
    assert bound(NORM, x, torch.zeros(5)).strided == ()


def test_backward_view_is_refused():
    x = np.zeros((3, 5), np.float32)[::-1]
    assert refused(NORM, x, np.zeros(5, np.float32)).code == "AK704"


def test_broadcast_input_is_allowed_and_broadcast_output_refused():
    rows = torch.zeros(5).expand(3, 5)
    assert bound(NORM, rows, torch.zeros(5)).strided == ("x",)
    assert refused(NORM, torch.zeros(3, 5), torch.zeros(5), rows).code == "AK704"


def test_sparse_and_lazily_negated_tensors_are_refused():
    assert refused(NORM, torch.zeros(3, 5).to_sparse(), torch.zeros(5)).code == "AK704"
    negated = torch.zeros(3, 5, dtype=torch.complex64).conj().imag
    assert refused(NORM, negated, torch.zeros(5)).code == "AK704"


def test_tensor_without_memory_is_refused():
    assert refused(NORM, torch.zeros(3, 5, device="meta"), torch.zeros(5)).code == "AK701"


def test_call_on_another_device_than_the_tensors_is_refused():
    with pytest.raises(CallError) as caught:
        bind_call(NORM, (torch.zeros(3, 5), torch.zeros(5)), {}, device=Device("cuda", 0))
    assert caught.value.code == "AK701"
    assert caught.value.message == "argument `x` is on cpu, expected cuda:0, where the call runs"


def test_read_only_array_can_be_read_but_not_written():
    locked = np.zeros((3, 5), np.float32)
    locked.flags.writeable = False
    weight = np.zeros(5, np.float32)
    assert bound(NORM, locked, weight).sizes == {"T": 3, "H": 5}
    assert refused(NORM, np.zeros((3, 5), np.float32), weight, locked).code == "AK713"


def test_array_of_foreign_byte_order_is_refused():
    x = np.zeros((3, 5), ">f4")
    assert refused(NORM, x, np.zeros(5, np.float32)).code == "AK702"


def test_address_between_elements_is_refused():
    raw = np.zeros(100, np.uint8)
    x = raw[1:61].view(np.float32).reshape(3, 5)
    error = refused(NORM, x, np.zeros(5, np.float32))
    assert (error.code, error.field("name"), error.field("got")) == ("AK711", "x", "1")


@pytest.mark.parametrize(("offset", "alignment"), [(0, 16), (1, 4), (2, 8), (3, 4), (4, 16)])
def test_alignment_of_a_call_is_that_of_its_least_aligned_tensor(offset: int, alignment: int):
    sig = signature(tensor("x", "f32", "T"), tensor("y", "f32", "T"))
    memory = torch.zeros(64)
    assert memory.data_ptr() % 16 == 0
    call = bound(sig, memory[offset : offset + 9], torch.zeros(9))
    assert call.alignment == alignment


def test_rows_of_a_strided_tensor_count_for_alignment():
    sig = signature(tensor("x", "f32", "T, H"))
    memory = torch.zeros(6, 24)
    assert bound(sig, memory[:, :8]).alignment == 16
    assert bound(sig, torch.zeros(6, 25)[:, :8]).alignment == 4


def test_build_for_wider_alignment_refuses_the_call():
    sig = signature(tensor("x", "f32", "T"))
    call = bound(sig, torch.zeros(64)[1:9])
    with pytest.raises(CallError, match="AK711"):
        check_variant(built(sig, Variant(alignment=16)), call)
    check_variant(built(sig, Variant(alignment=4)), call)


@pytest.mark.parametrize(("row", "alignment"), [(8, 16), (6, 8), (5, 4)])
def test_rows_of_run_time_length_count_for_the_build(row: int, alignment: int):
    sig = signature(tensor("x", "f32", "T, H"))
    call = bound(sig, torch.zeros(3, row))
    assert variant_of(built(sig, Variant()), call) == Variant(alignment=alignment)
    check_variant(built(sig, Variant(alignment=alignment)), call)
    if alignment < 16:
        with pytest.raises(CallError, match="AK711"):
            check_variant(built(sig, Variant(alignment=2 * alignment)), call)


def test_output_over_an_input_is_refused_unless_allowed_in_place():
    x, weight = torch.zeros(3, 5), torch.zeros(5)
    error = refused(NORM, x, weight, x)
    assert (error.code, error.field("name"), error.field("other")) == ("AK709", "out", "x")
    assert bound(NORM, x, weight, x, in_place=frozenset({"out"})).sizes == {"T": 3, "H": 5}


def test_output_shifted_over_an_input_is_refused_even_in_place():
    memory = torch.zeros(100)
    x, out = memory[:15].view(3, 5), memory[5:20].view(3, 5)
    assert refused(NORM, x, torch.zeros(5), out, in_place=frozenset({"out"})).code == "AK709"


def test_outputs_in_the_halves_of_one_buffer_are_apart():
    sig = signature(tensor("a", "f32", "T, H", "out"), tensor("b", "f32", "T, H", "out"))
    buffer = torch.zeros(4, 10)
    call = bound(sig, buffer[:, :5], buffer[:, 5:])
    assert call.strided == ("a", "b")
    assert refused(sig, buffer[:, :5], buffer[:, 4:9]).code == "AK709"


def test_inputs_may_share_memory():
    sig = signature(tensor("a", "f32", "T"), tensor("b", "f32", "T"))
    x = torch.zeros(4)
    assert bound(sig, x, x).sizes == {"T": 4}


def test_call_without_any_tensor_needs_a_device():
    sig = signature(tensor("out", "f32", "T", "out"))
    assert refused(sig, T=3).code == "AK706"
    call = bind_call(sig, (), {"T": 3}, device=Device("cpu"))
    assert isinstance(call.outputs["out"], np.ndarray)


def test_missing_scalar_without_a_default_is_refused():
    sig = signature(tensor("x", "f32", "T"), ScalarParam("scale", DTYPES["f32"]))
    assert refused(sig, torch.zeros(3)).code == "AK706"
    assert bound(sig, torch.zeros(3), 2).scalar("scale").value == 2.0


class Exporter:
    """A producer of DLPack that is neither torch nor NumPy."""

    def __init__(self, array: object, *, versioned: bool) -> None:
        self.array = array
        self.versioned = versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **arguments: object) -> object:
        if not self.versioned and "max_version" in arguments:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**arguments)


@pytest.mark.parametrize("versioned", [True, False])
def test_any_dlpack_producer_is_a_tensor(versioned: bool):
    x = torch.arange(30, dtype=torch.float32).view(3, 10)[:, 1:6]
    call = bound(NORM, Exporter(x, versioned=versioned), torch.zeros(5), torch.zeros(3, 5))
    view = call.tensor("x").view
    assert (view.pointer, view.shape, view.strides) == (x.data_ptr(), (3, 5), (10, 1))


def test_dlpack_keeps_the_memory_alive():
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    call = bound(NORM, Exporter(x, versioned=True), torch.zeros(5))
    address = call.tensor("x").view.pointer
    del x
    again = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 15).from_address(address))
    assert again.tolist() == list(range(15))


def test_read_only_flag_of_dlpack_is_respected():
    locked = np.zeros((3, 5), np.float32)
    locked.flags.writeable = False
    assert refused(NORM, torch.zeros(3, 5), torch.zeros(5), Exporter(locked, versioned=True)).code == "AK713"


def test_producer_that_refuses_is_reported():
    locked = np.zeros((3, 5), np.float32)
    locked.flags.writeable = False
    # Without a version the producer cannot say that its memory is read-only, so it exports none.
    assert refused(NORM, Exporter(locked, versioned=False), torch.zeros(5)).code == "AK702"


def test_bfloat16_comes_through_dlpack():
    sig = signature(tensor("x", "bf16", "T"))
    assert bound(sig, Exporter(torch.zeros(4, dtype=torch.bfloat16), versioned=True)).sizes == {"T": 4}
