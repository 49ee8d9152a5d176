"""Arguments are packed in the order and width of the generated function."""

import pytest
import torch

from agentkern.compiler.abi import Argument, KernelAbi, Launch, ScalarParam, Variant
from agentkern.compiler.ir import dims
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.launch_arguments import pack_launches
from agentkern.runtime.launch_blocks import blocks_of
from agentkern.runtime.signature import signature_of
from agentkern.runtime.tensors import bind_call
from tests.runtime.signatures import signature, tensor

I64 = DTYPES["i64"]


def abi() -> KernelAbi:
    sig = signature(
        tensor("x", "f32", "T, H"), tensor("out", "f32", "T", "out"), ScalarParam("eps", DTYPES["f32"], 0.5)
    )
    arguments = (
        Argument("pointer", "x", DTYPES["f32"]),
        Argument("pointer", "out", DTYPES["f32"]),
        Argument("size", "T", I64),
        Argument("stride", "x", I64, axis=0),
        Argument("scalar", "eps", DTYPES["f32"]),
    )
    launches = (
        Launch("first", dims.parse("(T + 3) // 4"), 128, 1024, arguments),
        Launch("second", dims.parse("T"), 32, 0, arguments[:2]),
    )
    return KernelAbi("k", sig.params, sig.sizes, (), launches, Variant(strided=("x",)))


def test_each_launch_gets_its_blocks_and_arguments():
    kernel = abi()
    x = torch.zeros(5, 10)[:, :8]
    call = bind_call(signature_of(kernel), (x,), {})
    first, second = pack_launches(kernel, call)
    assert (first.function, first.blocks, first.threads, first.shared_bytes) == ("first", 2, 128, 1024)
    assert [int.from_bytes(data, "little") for data in first.arguments[:4]] == [
        x.data_ptr(),
        call.tensor("out").view.pointer,
        5,
        10,
    ]
    assert first.arguments[4] == b"\x00\x00\x00\x3f"
    assert (second.function, second.blocks, len(second.arguments)) == ("second", 5, 2)


def test_launch_of_no_blocks_is_left_out():
    kernel = abi()
    assert pack_launches(kernel, bind_call(signature_of(kernel), (torch.zeros(0, 8),), {})) == ()


def test_more_blocks_than_a_grid_can_have_are_refused():
    launch = abi().launches[1]
    assert blocks_of(launch, {"T": 2**31 - 1}) == 2**31 - 1
    with pytest.raises(CallError) as refused:
        blocks_of(launch, {"T": 2**31})
    assert refused.value.code == "AK714"
    assert "2147483648 blocks" in refused.value.message


def test_a_list_is_packed_as_a_table_of_pointers_or_strides():
    entries = ("xs[0]", "xs[1]")
    sig = signature(*(tensor(name, "f32", "T, H") for name in entries))
    arguments = (
        Argument("table", "xs", DTYPES["f32"], entries=entries),
        Argument("stride_table", "xs", I64, axis=2, entries=entries),
        Argument("table", "none", DTYPES["f32"]),
    )
    launches = (Launch("k", 1, 32, 0, arguments),)
    kernel = KernelAbi("k", sig.params, sig.sizes, (), launches, Variant(strided=entries))
    tensors = (torch.zeros(5, 10)[:, :8], torch.zeros(5, 9)[:, :8])
    (packed,) = pack_launches(kernel, bind_call(signature_of(kernel), tensors, {}))
    words = [[int.from_bytes(data[k : k + 8], "little") for k in range(0, len(data), 8)] for data in packed.arguments]
    assert words == [[x.data_ptr() for x in tensors], [10, 1, 9, 1], [0]]
    assert [argument.words for argument in arguments] == [2, 4, 1]
