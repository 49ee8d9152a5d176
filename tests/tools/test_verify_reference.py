"""References in files of the user's own, called in a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.printer import print_kernel
from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.inputs import generate
from agentkern.tools.reference_process import ReferenceFailure, read_answer
from agentkern.tools.results import VerifyResult
from agentkern.tools.sources import UsageError
from agentkern.tools.verify_agreement import Answer, violation
from agentkern.tools.verify_criterion import Criterion, CriterionError, criterion_beside, parse_criterion
from agentkern.tools.verify_executors import InterpreterExecutor
from agentkern.tools.verify_model import Case
from agentkern.tools.verify_reference import Reference, check_reference, parse_reference
from agentkern.tools.verify_reference_worker import TORCH, call, from_torch, named_outputs, to_torch
from agentkern.tools.verify_run import VerifyOptions, make_subject, run_checks
from agentkern.tools.verify_subject import Outcome, Subject
from tests.compiler.ir.tile_kernels import VECTOR_ADD
from tests.tools.verify_programs import TextProgram

CORPUS = Path(__file__).parents[2] / "corpus"


PROGRAM = TextProgram(VECTOR_ADD)
SCALED = """
agentkern.ir 1
kernel tile @scaled(%x: in<i32, [N]>, %out: out<i32, [N]>, %s: i32) {} {
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%i: block<%i, N>)
    %a = load(%x, %i) {index = ["$0"]} : tile<i32, [%i]>
    %one = constant() {value = 1} : i32
    %b = broadcast(%s) : tile<i32, [%i]>
    %c = mul(%a, %b) : tile<i32, [%i]>
    store(%out, %c, %i) {index = ["$0"]}
  }
}
"""


SOME_ROWS = """\
import agentkern as ak

N = ak.dim("N")


@ak.kernel
def some(x: ak.In[ak.f32, N], out: ak.Out[ak.f32, N].partial()):
    for i in ak.grid(N):
        ak.store(out[i], x[i], where=x[i] > 0)
"""


def subject_of(options: VerifyOptions, program: TextProgram = PROGRAM) -> Subject:
    executor = InterpreterExecutor(program)
    return make_subject(program, executor, executor, program.sizes, options)


def verify_with(text: str, folder: Path) -> VerifyResult:
    """Verify an addition against a reference in a worker."""
    path = folder / "reference.py"
    path.write_text("import torch\n" + text)
    options = VerifyOptions({"N": 40}, reference=Reference(path, "f"))
    return run_checks(subject_of(options), options)


def record(result: VerifyResult) -> tuple[str, str]:
    return next((c.status, c.detail) for c in result.checks if c.name == "reference")


@dataclass(frozen=True)
class Ready:
    """Answers made in this process: torch takes seconds to load in another."""

    cases: tuple[Case, ...]
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    exact: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None

    def answers(self, subject: Subject) -> dict[str, Answer]:
        return {case.name: self._answer(case) for case in self.cases}

    def _answer(self, case: Case) -> Answer:
        x, y = (to_torch("f32", case.call.tensors[name]) for name in ("x", "y"))
        exact = None if self.exact is None else {"out": self.exact(x, y).numpy()}
        return Answer({"out": from_torch(self.function(x, y))[1]}, exact)


def plus(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def next_above(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nextafter(x + y, torch.tensor(torch.inf))


def check(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], criterion: Criterion) -> Outcome:
    subject = subject_of(VerifyOptions({"N": 400}))
    cases = tuple(subject.case(kind, subject.plan.base) for kind in ("random", "integers"))
    wide = Ready(cases, function, lambda x, y: x.double() + y.double())
    return check_reference(subject, wide, criterion)


def test_equal_bits_against_a_reference_in_a_worker_are_bit_exact(tmp_path: Path) -> None:
    result = verify_with("def f(x, y): return x + y\n", tmp_path)
    assert result.verdict == "bit_exact"
    assert record(result)[0] == "passed"


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [("out", "bit_exact"), ("torch.zeros_like(out)", "wrong"), ("torch.full_like(out, torch.nan)", "wrong")],
)
def test_a_reference_is_told_what_a_partial_output_holds_before(kept: str, verdict: str, tmp_path: Path) -> None:
    kernel = lower_source(SOME_ROWS, "kernel.py", None, {}, {}).kernel
    assert kernel is not None
    path = tmp_path / "reference.py"
    path.write_text(f"import torch\ndef f(x, out): return torch.where(x > 0, x, {kept})\n")
    options = VerifyOptions({"N": 40}, reference=Reference(path, "f"))
    assert run_checks(subject_of(options, TextProgram(print_kernel(kernel))), options).verdict == verdict


def test_a_reference_off_by_one_ulp_is_wrong_without_a_bound_and_within_one() -> None:
    assert check(next_above, Criterion()).record.status == "failed"
    assert check(next_above, Criterion("bound", max_ulp=1)).record.status == "passed"
    assert check(next_above, Criterion("bound", max_ulp=1, min_equal_share=0.5)).record.status == "failed"


def test_a_bound_still_rejects_the_controls() -> None:
    controls = check(plus, Criterion("bound", max_ulp=4)).controls
    assert set(controls) == {"zeros", "ones", "copy of an input", "stale output", "dropped tail", "off-by-one mask"}
    assert all(controls.values())


def test_a_bound_that_lets_anything_through_is_reported_useless() -> None:
    useless = check(plus, Criterion("bound", max_ulp=1e30)).record
    assert useless.status == "not_run"
    assert useless.detail.startswith("useless for this kernel: bound:max_ulp=1e+30 lets `zeros`")


def test_a_reference_that_tells_nothing_apart_leaves_no_verdict() -> None:
    options = VerifyOptions({"N": 40}, reference=PROGRAM, criterion=Criterion("bound", max_ulp=1e30))
    assert run_checks(subject_of(options), options).verdict == "not_run"


def test_a_scalar_that_a_reference_leaves_out_is_found_though_its_default_is_neutral() -> None:
    scaled = TextProgram(SCALED)
    deaf = TextProgram(SCALED.replace("broadcast(%s)", "broadcast(%one)"))
    for other, verdict in ((scaled, "bit_exact"), (deaf, "wrong")):
        options = VerifyOptions({"N": 40}, reference=other)
        executor = InterpreterExecutor(scaled)
        subject = make_subject(scaled, executor, executor, scaled.sizes, options)
        assert run_checks(subject, options).verdict == verdict


def test_the_error_ratio_compares_with_the_references_own_error_against_float64() -> None:
    assert "error against f64 at most 1 of the reference's own" in check(plus, Criterion()).record.detail
    # the kernel's error is below that of a reference one ulp off
    assert check(next_above, Criterion("bound", max_error_ratio=0.6)).record.status == "passed"
    assert check(plus, Criterion("bound", max_error_ratio=0.6)).record.status == "failed"


def test_float64_answers_of_several_outputs_may_hold_whole_numbers_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "0.out.npz", **{"place:i32": np.array([3], np.int32), "y:f32": np.array([1.5], np.float32)})
    np.savez(tmp_path / "0.f64.npz", **{"place:i32": np.array([3], np.int32), "y:f64": np.array([1.25])})
    params = tuple(TensorParam(name, DTYPES[d], (1,), "out") for name, d in (("place", "i32"), ("y", "f32")))
    answer = read_answer(tmp_path, 0, params, {"place": (1,), "y": (1,)})
    assert answer.exact is not None
    assert {name: values.tolist() for name, values in answer.exact.items()} == {"place": [3.0], "y": [1.25]}


def test_a_bound_on_the_error_ratio_holds_where_there_are_no_elements() -> None:
    param = TensorParam("out", DTYPES["f32"], (0,), "out")
    empty = {"out": np.zeros(0, np.float32)}
    limit = Criterion("bound", max_error_ratio=1.0)
    assert violation((param,), empty, Answer(empty, {"out": np.zeros(0)}), limit) is None
    one = {"out": np.ones(1, np.float32)}
    assert violation((param,), one, Answer({"out": np.zeros(1, np.float32)}, {"out": np.zeros(1)}), limit) is not None


def test_a_bound_on_errors_alone_lets_no_other_integer_through() -> None:
    param = TensorParam("out", DTYPES["i32"], (2,), "out")
    want = {"out": np.array([1, 2], np.int32)}
    limit = Criterion("bound", max_error_ratio=2.0)
    assert violation((param,), want, Answer(want, {"out": np.array([1.0, 2.0])}), limit) is None
    got = {"out": np.array([1, 3], np.int32)}
    assert violation((param,), got, Answer(want, {"out": np.array([1.0, 2.0])}), limit) is not None


def test_a_bound_on_errors_without_float64_is_not_run_and_says_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "reference.py"
    path.write_text("def f(x, y): return x + y\n")
    options = VerifyOptions({"N": 40}, reference=Reference(path, "f"), criterion=Criterion("bound", max_error_ratio=2))
    result = run_checks(subject_of(options), options)
    assert result.verdict == "not_run"
    assert "`max_error_ratio` needs the outputs in float64" in record(result)[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x, y): raise ValueError('no')\n", "raised ValueError: no"),
        ("def f(x, y): raise ValueError('\\ud800')\n", "raised ValueError: \\ud800"),
        ("import os\nos._exit(9)\n", "ended with 9"),
        ("raise SystemExit(0)\n", "before it had answered every case"),
    ],
)
def test_a_reference_that_fails_leaves_the_check_not_run(text: str, message: str, tmp_path: Path) -> None:
    result = verify_with(text, tmp_path)
    state, detail = record(result)
    assert state == "not_run"
    assert message in detail
    assert result.verdict == "not_run"
    # neither the kernel nor the environment is at fault
    assert (result.status, [d.code for d in result.diagnostics]) == ("failed", ["AK811"])


def test_outputs_come_as_a_tensor_a_tuple_or_a_dict_and_their_number_is_checked() -> None:
    one, two = torch.ones(1), torch.zeros(2)
    assert named_outputs(one, ["a"]) == {"a": one}
    assert named_outputs((one, two), ["a", "b"]) == {"a": one, "b": two}
    assert named_outputs({"b": two, "a": one}, ["a", "b"]) == {"a": one, "b": two}
    with pytest.raises(ValueError, match="returns 2 tensors, the kernel has outputs a"):
        named_outputs((one, two), ["a"])


def test_a_list_of_outputs_comes_as_a_list_alone_or_beside_others() -> None:
    one, two, lists = torch.ones(1), torch.zeros(2), {"ys": ["ys[0]", "ys[1]"]}
    wanted = {"ys[0]": one, "ys[1]": two}
    for value in ([one, two], ([one, two],), {"ys": [one, two]}):
        assert named_outputs(value, ["ys[0]", "ys[1]"], lists) == wanted
    assert named_outputs(([one, two], one), ["ys[0]", "ys[1]", "z"], lists) == {**wanted, "z": one}
    with pytest.raises(ValueError, match="`ys` of the reference has 1 tensors, not 2"):
        named_outputs([one], ["ys[0]", "ys[1]"], lists)


def test_arguments_go_by_name_where_the_function_has_the_names_else_in_order() -> None:
    given = {"H": 4, "eps": 0.5, "x": 1, "y": 2}
    assert call(lambda y, x, eps: (x, y, eps), given, ["x", "y"]) == (1, 2, 0.5)
    assert call(lambda a, b: (a, b), given, ["x", "y"]) == (1, 2)
    assert call(lambda **all_of_them: sorted(all_of_them), given, ["x", "y"]) == ["H", "eps", "x", "y"]


@pytest.mark.parametrize("name", TORCH)
def test_raw_storage_survives_the_way_to_torch_and_back(name: str) -> None:
    raw = generate("special", DTYPES[name], (6, 5), 0, "x")
    dtype, back = from_torch(to_torch(name, raw))
    assert dtype == {"tf32": "f32"}.get(name, name)
    assert back.view(np.uint8).tobytes() == raw.view(np.uint8).tobytes()


def test_a_reference_is_named_by_file_and_function() -> None:
    path = CORPUS / "norm" / "rms_norm" / "reference.py"
    assert parse_reference(f"{path}:reference") == Reference(path, "reference")
    with pytest.raises(UsageError, match=r"FILE\.py:FUNCTION"):
        parse_reference(str(path))
    with pytest.raises(ReferenceFailure, match="no file"):
        parse_reference("nowhere.py:f")


def test_criteria_read_back_and_reject_what_they_are_not() -> None:
    criterion = parse_criterion("bound:max_ulp=1,min_equal_share=0.999")
    assert parse_criterion(criterion.text()) == criterion
    for wrong in (
        "close",
        "bound",
        "bit_exact:max_ulp=1",
        "bound:max_ulp",
        "bound:slack=1",
        "bound:max_ulp=nan",
        "bound:max_ulp=-1",
    ):
        with pytest.raises(CriterionError):
            parse_criterion(wrong)


def test_the_criterion_beside_a_reference_is_that_of_its_meta_toml(tmp_path: Path) -> None:
    found = criterion_beside(CORPUS / "norm" / "rms_norm" / "reference.py")
    assert found == Criterion("bound", max_ulp=1, min_equal_share=0.999)
    assert criterion_beside(tmp_path / "reference.py") is None


def test_bit_exact_takes_any_nan_but_only_the_right_zero():
    param = TensorParam("out", DTYPES["f32"], (3,), "out")
    want = Answer({"out": np.asarray([0.0, np.nan, 1.0], np.float32)}, None)
    other_nan = np.asarray([0, 0xFFC00001, 0x3F800000], np.uint32).view(np.float32)
    assert violation((param,), {"out": other_nan}, want, Criterion()) is None
    found = violation((param,), {"out": np.asarray([-0.0, np.nan, 1.0], np.float32)}, want, Criterion())
    assert found is not None
    assert (found.index, found.ulp) == ((0,), 0)
