"""Records bind to tensors of bytes: what a call may give, and what it is told when it may not."""

import numpy as np
import pytest
import torch

from agentkern.runtime.call_errors import CallError
from tests.runtime.called_kernels import append, crossed, look_up, rescaled

pytestmark = pytest.mark.toolchain
BYTES = 16 + 4 + 6
PACKED = np.dtype([("nope", "u1", 16), ("scale", "<f4"), ("rope", "<u2", 3)])


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def cached(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, 16, generator=generator)
    r = torch.randn(rows, 3, generator=generator).bfloat16()
    made = append(x, r)
    assert isinstance(made, torch.Tensor)
    return x, r, made


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_written_records_are_rows_of_bytes_that_read_back(rows: int):
    x, r, kv = cached(rows)
    assert (kv.dtype, tuple(kv.shape)) == (torch.uint8, (rows, BYTES))
    packed = kv.numpy().view(PACKED).reshape(rows) if rows else np.empty(0, PACKED)
    np.testing.assert_array_equal(packed["rope"], r.view(torch.int16).numpy().view(np.uint16))
    out, back = look_up(kv)
    assert torch.equal(back, r)
    assert torch.allclose(out, x, atol=0.2)


def test_rows_may_lie_apart_and_bytes_may_have_any_type_of_one_byte():
    _, _, kv = cached(5)
    wide = torch.full((5, 42), 99, dtype=torch.uint8)
    wide[:, 2 : 2 + BYTES] = kv
    want = look_up(kv)
    for given in (wide[:, 2 : 2 + BYTES], kv.view(torch.float8_e4m3fn), kv.view(torch.int8), kv.numpy()):
        got = look_up(given)
        first = got[0] if isinstance(got[0], torch.Tensor) else torch.from_numpy(got[0])
        assert torch.equal(first, want[0])


def test_records_may_be_changed_in_place_where_each_field_is_read_before_it_is_written():
    _, _, kv = cached(5)
    want, changed = rescaled(kv), kv.clone()
    rescaled(changed, out=changed)
    assert torch.equal(changed, want)
    with pytest.raises(CallError, match="AK718"):
        crossed(changed, out=changed)


WRONG = [
    (torch.zeros(3, BYTES), "AK702: argument `kv` is float32, expected bytes"),
    (torch.zeros(3, BYTES, dtype=torch.bool), "AK702: argument `kv` is bool, expected bytes"),
    (torch.zeros(3, BYTES - 1, dtype=torch.uint8), f"AK705: argument `kv`: axis 1 is {BYTES - 1}, expected {BYTES}"),
    (torch.zeros(3 * BYTES, dtype=torch.uint8), "AK703: argument `kv` has 1 axes"),
    (torch.zeros(3, 2 * BYTES, dtype=torch.uint8)[:, ::2], "AK704: argument `kv` has strides"),
    (torch.zeros(3, 40, dtype=torch.uint8)[:, 1 : 1 + BYTES], "AK711: argument `kv` is aligned to 1 bytes, expected 2"),
    (torch.zeros(3, 41, dtype=torch.uint8)[:, :BYTES], "AK704: argument `kv` has strides .*at multiples of 2"),
    (torch.zeros(BYTES, 3, dtype=torch.uint8).T, "AK704: argument `kv` has strides"),
]


@pytest.mark.parametrize(("kv", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_no_tensor_of_records_is_said(kv: torch.Tensor, message: str):
    with pytest.raises(CallError, match=message):
        look_up(kv)
