"""A call gives a list of tensors as a Python list; each of its tensors is checked under its own name."""

import numpy as np
import pytest
import torch

import agentkern as ak
from agentkern.runtime.call_errors import CallError
from tests.runtime.called_kernels import chosen, layers

pytestmark = pytest.mark.toolchain
X = torch.tensor([1.0, -2.0, 0.5])
SHARED = torch.ones(4)
SCALES = [torch.full((3,), k + 2.0) for k in range(2)]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def expected(n: int) -> torch.Tensor:
    y = X
    for scale in SCALES[:n]:
        y = y * scale + 1.0
    return y


def test_the_length_of_a_list_gives_the_size_and_outputs_come_as_a_list():
    outs, total = layers(X, SCALES, 1.0)
    assert isinstance(outs, list)
    assert [torch.equal(outs[n], expected(n + 1)) for n in range(2)] == [True, True]
    assert torch.equal(total, expected(2))
    shorter, _ = layers(X, SCALES[:1], 1.0)
    assert len(shorter) == 1


def test_a_list_of_no_tensors_is_a_call():
    outs, total = layers(X, [], 1.0)
    assert outs == []
    assert torch.equal(total, X)


def test_given_outputs_are_written_and_those_left_out_are_made():
    mine = torch.zeros(3)
    outs, total = layers(X, tuple(SCALES), 1.0, outs=[None, mine])
    assert outs[1] is mine
    assert torch.equal(mine, total)
    assert layers(X, SCALES, 1.0, [torch.zeros(3), mine], torch.zeros(3)) is None


def test_a_compiled_function_with_a_fixed_length_takes_numpy_arrays():
    function = ak.compile(layers, H=2)
    outs, _ = function(X.numpy(), [s.numpy() for s in SCALES], 1.0)
    np.testing.assert_array_equal(outs[1], expected(2).numpy())
    with pytest.raises(CallError, match=r"AK717: argument `scales` is a list of 1 tensors, expected 2 tensors"):
        function(X.numpy(), [SCALES[0].numpy()], 1.0)


WRONG = [
    ({"scales": torch.stack(SCALES)}, "AK717: argument `scales` is a `Tensor`, expected a list"),
    ({"outs": [torch.zeros(3)]}, "AK717: argument `outs` is a list of 1 tensors, expected 2 tensors"),
    ({"scales": [SCALES[0], torch.ones(4)]}, r"AK705: argument `scales\[1\]`: axis 0 is 4, expected 3"),
    ({"scales": [SCALES[0], SCALES[1].double()]}, r"AK702: argument `scales\[1\]` is float64, expected f32"),
    ({"scales": [SCALES[0], None]}, r"AK702: argument `scales\[1\]` is a `NoneType`"),
    ({"scales": None}, "AK717: argument `scales` is a `NoneType`"),
    ({"H": 3}, "AK717: argument `scales` is a list of 2 tensors, expected 3 tensors"),
    ({"x": SHARED[:3], "outs": [SHARED[1:], None]}, r"AK709: `outs\[0\]` shares memory with `x`"),
    ({"outs": [SCALES[1], None]}, r"AK718: `outs\[0\]` is `scales\[1\]`, and `scales\[1\]\[t\]` is read after"),
    ({"outs[1]": torch.zeros(3), "outs": [None, torch.zeros(3)]}, "given twice"),
    ({"scale": SCALES}, "no parameter or size is called `scale`: is `scales` meant"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_wrong_list_is_reported_by_the_tensors_name(change: dict[str, object], message: str):
    with pytest.raises(CallError, match=message):
        layers(**{"x": X, "scales": SCALES, "bias": 1.0, **change})


def test_an_output_may_be_a_list_entry_that_is_read_before():
    scales = [scale.clone() for scale in SCALES]
    layers(X, scales, 1.0, outs=[scales[0], None])
    assert torch.equal(scales[0], expected(1))


def test_one_tensor_for_two_outputs_of_a_list_is_rejected():
    mine = torch.zeros(3)
    with pytest.raises(CallError, match=r"AK709: `outs\[0\]` shares memory with `outs\[1\]`"):
        layers(X, SCALES, 1.0, [mine, mine])


def test_a_list_that_is_left_out_is_missing_by_its_name():
    with pytest.raises(CallError, match=r"AK710: size `H`"):
        layers(X, bias=1.0)
    with pytest.raises(
        CallError, match=r"argument `scales` is missing: the call is `layers\(x, scales, bias, outs=None"
    ):
        layers(X, bias=1.0, H=2)
    with pytest.raises(CallError, match=r"argument `scales\[1\]` is missing"):
        layers(X, bias=1.0, H=2, **{"scales[0]": SCALES[0]})


@pytest.mark.parametrize("gaps", [(0, 0), (0, 2), (1, 3)])
def test_tensors_that_a_run_time_number_picks_have_strides_of_their_own(gaps: tuple[int, int]):
    tables = [torch.arange(4.0 * (3 + gap)).reshape(4, 3 + gap)[:, :3] * (k + 1) for k, gap in enumerate(gaps)]
    kept = [torch.full((4,), float(k)) for k in range(2)]
    which = torch.tensor([0, 1, 1, 0], dtype=torch.int32)
    want = [k + torch.where(which == k, tables[k].sum(dim=1), torch.zeros(4)) for k in range(2)]
    sums = chosen(which, tables, kept)
    assert [torch.equal(a, b) for a, b in zip(sums, want, strict=True)] == [True, True]
    assert [torch.equal(a, b) for a, b in zip(kept, want, strict=True)] == [True, True]


def test_a_written_tensor_of_a_picked_list_is_no_other_argument():
    one, which = torch.zeros(4), torch.zeros(4, dtype=torch.int32)
    tables = [torch.ones(4, 3)] * 2
    assert torch.equal(chosen(which, tables, [one, torch.zeros(4)])[0], torch.full((4,), 3.0))
    with pytest.raises(CallError, match="AK709"):
        chosen(which, tables, [one, one])
    with pytest.raises(CallError, match="AK709"):
        chosen(which, tables, [one, torch.zeros(4)], [one, torch.zeros(4)])
