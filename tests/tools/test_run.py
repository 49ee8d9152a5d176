"""`agentkern run`: arrays in and out, raw bits, seeds, and the two ways to run on a CPU against each other."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.tools.command_line import agentkern
from tests.tools.kernel_texts import ADD, LISTS, RMS_NORM, ROWS


@pytest.fixture
def add(tmp_path: Path) -> Path:
    path = tmp_path / "add.py"
    path.write_text(ADD, encoding="utf-8")
    return path


@pytest.fixture
def norm(tmp_path: Path) -> Path:
    path = tmp_path / "norm.py"
    path.write_text(RMS_NORM, encoding="utf-8")
    return path


def outputs_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as loaded:
        return dict(loaded)


def test_arrays_and_numbers_go_in_and_outputs_come_out(add: Path, tmp_path: Path):
    a, b = np.arange(5, dtype=np.float32), np.full(5, 0.5, np.float32)
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "b.npz", b=b, other=a)
    inputs = ("--input", f"a={tmp_path / 'a.npy'}", "--input", f"b={tmp_path / 'b.npz'}", "--input", "scale=2")
    answer = agentkern("run", str(add), *inputs, "--device", "interp", "-o", str(tmp_path / "out.npz"), "--json")
    assert answer.code == 0, answer.out
    np.testing.assert_array_equal(outputs_of(tmp_path / "out.npz")["out"], (a + b) * np.float32(2))


@pytest.mark.toolchain
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_simulator_and_interpreter_give_the_same_bits(norm: Path, rows: int):
    answers = [
        agentkern("run", str(norm), "--dim", f"H=131,T={rows}", "--device", device, "--seed", "3", "--json")
        for device in ("cpu", "interp")
    ]
    assert [answer.code for answer in answers] == [0, 0]
    digests = [answer.json["outputs"][0]["digest"] for answer in answers]
    assert digests[0] == digests[1]


@pytest.mark.toolchain
@pytest.mark.parametrize("width", [1, 8, 31, 64])
def test_rows_of_a_run_time_length_need_no_alignment(tmp_path: Path, width: int):
    path = tmp_path / "rows.py"
    path.write_text(ROWS, encoding="utf-8")
    answers = [
        agentkern("run", str(path), "--dim", f"T=5,N={width}", "--device", device, "--json")
        for device in ("cpu", "interp")
    ]
    assert [answer.code for answer in answers] == [0, 0], answers[0].out
    assert answers[0].json["outputs"] == answers[1].json["outputs"]


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["bf16", "f16", "i32", "i64", "u8"])
def test_scalars_of_every_width_reach_the_kernel(tmp_path: Path, dtype: str):
    path = tmp_path / "scalars.py"
    path.write_text(ADD.replace("f32", dtype).replace("= 1.0", ""), encoding="utf-8")
    number = "3" if dtype.startswith("u") else "-3"
    answers = [
        agentkern("run", str(path), "--dim", "N=9", "--input", f"scale={number}", "--device", device, "--json")
        for device in ("cpu", "interp")
    ]
    assert [answer.code for answer in answers] == [0, 0], answers[0].out
    assert answers[0].json["outputs"] == answers[1].json["outputs"]


def test_bf16_travels_as_raw_bits_of_its_width(norm: Path, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.full((2, 8), 0x3F80, np.uint16))
    np.save(tmp_path / "w.npy", np.full(8, 0x4000, np.uint16))
    inputs = ("--input", f"x={tmp_path / 'x.npy'}", "--input", f"weight={tmp_path / 'w.npy'}", "--input", "eps=0.0")
    out = tmp_path / "out.npz"
    answer = agentkern("run", str(norm), "--dim", "H=8", *inputs, "--device", "interp", "-o", str(out))
    assert answer.code == 0, answer.out
    np.testing.assert_array_equal(outputs_of(out)["out"], np.full((2, 8), 0x4000, np.uint16))


def test_a_seed_decides_the_inputs_that_are_not_given(add: Path):
    def digest_of(seed: str) -> str:
        answer = agentkern("run", str(add), "--dim", "N=33", "--device", "interp", "--seed", seed, "--json")
        return answer.json["outputs"][0]["digest"]

    assert digest_of("1") == digest_of("1")
    assert digest_of("1") != digest_of("2")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--input", "a=WIDE", "--dim", "N=4"), "AK702", "f32"),
        (("--input", "a=SHORT", "--dim", "N=4"), "AK705", ""),
        (("--input", "scale=true", "--dim", "N=4"), "AK707", "bool"),
        (("--dim", "N=1000000000000"), "AK812", "GiB"),
        (("--schedule", '{"version": 99, "grids": []}', "--dim", "N=4"), "AK613", "99"),
    ],
    ids=["dtype", "shape", "scalar", "memory", "schedule"],
)
def test_inputs_that_do_not_fit_are_named(add: Path, tmp_path: Path, arguments: tuple[str, ...], code: str, said: str):
    np.save(tmp_path / "wide.npy", np.zeros(4, np.float64))
    np.save(tmp_path / "short.npy", np.zeros(3, np.float32))
    files = {"a=WIDE": f"a={tmp_path / 'wide.npy'}", "a=SHORT": f"a={tmp_path / 'short.npy'}"}
    answer = agentkern("run", str(add), *(files.get(part, part) for part in arguments), "--json")
    assert answer.code == 1
    assert answer.json["status"] in ("failed", "rejected")
    assert answer.json["diagnostics"][0]["code"] == code
    assert said in answer.json["summary"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--input", "c=1.0", "--dim", "N=4"), "AK805", "a, b, scale"),
        ((), "AK710", "give it: `--dim N=...`"),
        (("--dim", "M=4"), "AK802", "`N`"),
    ],
    ids=["unknown-name", "size-not-shown", "unknown-size"],
)
def test_a_call_that_is_wrong_ends_with_2(add: Path, arguments: tuple[str, ...], code: str, said: str):
    answer = agentkern("run", str(add), *arguments, "--json")
    assert answer.code == 2
    assert answer.json["diagnostics"][0]["code"] == code
    assert said in answer.json["summary"]


def test_a_file_that_is_no_array_is_wrong_usage(add: Path, tmp_path: Path):
    (tmp_path / "text.npy").write_text("hello", encoding="utf-8")
    answer = agentkern("run", str(add), "--input", f"a={tmp_path / 'text.npy'}", "--json")
    assert answer.code == 2
    assert "no .npy or .npz" in answer.json["summary"]
    assert agentkern("run", str(add), "--input", "a=missing.npy").code == 2


def _npy(shape: str) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _npz(member: str, content: bytes) -> bytes:
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr(member, content)
    return stored.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        _npy(f"{10**15}"),
        _npy(f"{10**22}"),
        _npz("a.npy", _npy("3") + bytes(12))[:60],
        _npz("a.npy", _npy("3") + b"abcdabcdabcd").replace(b"abcd", b"abce"),
        _npz("a.npy", _npy(f"{10**15}")),
        _npz("a", b"text"),
    ],
    ids=["beyond-memory", "beyond-64-bits", "cut-off", "wrong-checksum", "npz-beyond-memory", "npz-of-text"],
)
def test_a_damaged_array_file_is_wrong_usage(add: Path, tmp_path: Path, content: bytes):
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    answer = agentkern("run", str(add), "--input", f"a={file}", "--json")
    assert answer.code == 2
    assert answer.json["diagnostics"][0]["code"] == "AK805"


def test_tensors_of_a_list_go_in_one_by_one_or_as_a_stack_and_come_out_by_name(tmp_path: Path):
    path, out = tmp_path / "lists.py", tmp_path / "out.npz"
    path.write_text(LISTS, encoding="utf-8")
    scales = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    np.save(tmp_path / "all.npy", scales)
    np.save(tmp_path / "0.npy", scales[0])
    np.save(tmp_path / "1.npy", scales[1])
    for given in (["scales=all.npy"], ["scales.0=0.npy", "scales[1]=1.npy"]):
        inputs = [word for pair in given for word in ("--input", pair.replace("=", f"={tmp_path}/"))]
        common = ("--dim", "L=2", "--device", "interp", "-o", str(out), "--json")
        answer = agentkern("run", str(path), "--input", f"x={tmp_path / 'x.npy'}", *inputs, *common)
        assert answer.code == 0, answer.out
        found = outputs_of(out)
        assert list(found) == ["steps[0]", "steps[1]", "total"]
        np.testing.assert_array_equal(found["steps[0]"], scales[0])
        np.testing.assert_array_equal(found["total"], scales[0] * scales[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [("scales=x.npy", "a stack of 2 tensors is needed"), ("scales.2=x.npy", "no input of that name")],
)
def test_a_wrong_tensor_of_a_list_is_reported(given: str, message: str, tmp_path: Path):
    path = tmp_path / "lists.py"
    path.write_text(LISTS, encoding="utf-8")
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    pair = given.replace("=", f"={tmp_path}/")
    answer = agentkern("run", str(path), "--dim", "L=2", "--input", pair, "--device", "interp", "--json")
    assert answer.json["diagnostics"][0]["code"] == "AK805"
    assert message in answer.json["diagnostics"][0]["message"]
