"""Tasks are read strictly: every complaint names the file, the key and what is wrong with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agentkern.evals.task import (
    MOST_FILE_BYTES,
    TaskError,
    default_tasks,
    read_suite,
    read_task,
    read_tasks,
    suite_digest,
)
from agentkern.evals.task_text import agentkern_signature, task_text

TASKS = read_tasks()
EXPRESSIBLE = [task for task in TASKS if not task.is_blocked]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a task that may be spoiled."""
    return Path(shutil.copytree(default_tasks() / "mask_indices_by_tp", tmp_path / "mask_indices_by_tp"))


def spoil(folder: Path, old: str, new: str) -> str:
    """Change a task's file and return the reader's complaint."""
    file = folder / "task.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(TaskError) as caught:
        read_task(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("family =", "famly =", "`famly`: there is no such key; did you mean `family`?"),
        ('name = "mask_indices_by_tp"', 'name = "mask"', "`name`: `mask` is not the folder's, `mask_indices_by_tp`"),
        ("level = 1", "level = 7", "`level`: is 1, 2, 3 or 4, not 7"),
        ("level = 1", "level = true", "`level`: is an integer, not True"),
        ("features = [", 'features = [3, "', "task.toml: "),
        ('dtype = "i64"', 'dtype = "int64"', "`tensors[0].dtype`: `int64` is not known; did you mean"),
        ('access = "out"', 'access = "output"', "`tensors[1].access`: `output` is not known; did you mean `out`?"),
        (
            'shape = ["T", "K"]',
            'shape = ["T", "L"]',
            "`tensors[0].shape`: `L` names the size `L`, which is not in `sizes`",
        ),
        ('shape = ["T", "K"]', 'shape = ["T", "K +"]', "`tensors[0].shape`: `K +` is no expression over sizes"),
        ('shape = ["T", "K"]', 'shape = "T"', "`tensors[0].shape`: is a list, not 'T'"),
        ('shape = ["T", "K"]', 'shape = ["T - 9", "K"]', "`idx` would have shape"),
        ("low = -1, high", "lo = -1, high", "`tensors[0].values.lo`: there is no such key; did you mean `low`?"),
        ("low = -1, high = 256", "low = -1", "`tensors[0].values.high`: is missing: a range has both ends"),
        ("low = -1, high = 256", "low = 0, high = 0", "no inputs keep the tensors' `values`"),
        ("low = -1, high = 256", "positive = true", "`tensors[0].values.positive`: there is no such key"),
        ('K = "static"', 'K = "fixed"', "`sizes.K.kind`: `fixed` is not known"),
        ('K = "static"', 'K = { kind = "static", max = 8 }', "`K` = 9 is not one of the numbers that `sizes.K` allows"),
        ("{ T = 65, K = 6 }", "{ T = 65 }", "does not give `T`, `K`"),
        ("{ T = 65, K = 6 }", "{ T = 650000, K = 60 }", "at most 1048576 can be judged"),
        ("value = 8", "value = 8.5", "`scalars[0].value`: 8.5 does not fit i64"),
        ("others = [4, 9, 1]", "others = [1e99]", "`scalars[0].others`: 1e+99 does not fit i64"),
        ('kind = "bit_exact"', 'kind = "exact"', "`criterion.kind`: criterion `exact` is neither bit_exact nor bound"),
        ('kind = "bit_exact"', 'kind = "bound"', "`criterion.kind`: a bound states max_ulp"),
        ('kind = "bit_exact"', 'kind = "bit_exact"\nfree = ["out"]', "`criterion.free`: outputs are free where"),
        ('kind = "bit_exact"', 'kind = "bit_exact"\noutputs = { ut = { kind = "bit_exact" } }', "did you mean `out`?"),
        (
            'kind = "bit_exact"',
            'kind = "bound"\nmin_equal_share = 1.5',
            "`criterion.kind`: `min_equal_share` is a share",
        ),
        (
            'kind = "bit_exact"',
            'kind = "bound"\nmax_error_ratio = 2',
            "`criterion.max_error_ratio`: is of rounding errors",
        ),
        ("16 * T * K", "16 * T * L", "`roofline.bytes`: `16 * T * L` has no number"),
        ('T = "run"', 'T = { kind = "run", multiple_of = 0 }', "`sizes.T.multiple_of`: is at least 1, not 0"),
        ('T = "run"', 'T = { kind = "run", min = -1 }', "`sizes.T.min`: is at least 0, not -1"),
        ('T = "run"', 'T = { kind = "run", min = 9, max = 3 }', "`sizes.T.max`: is at least 9, not 3"),
        ('["T", "K"]', f'["{"(" * 999}T{")" * 999}", "K"]', "is no expression over sizes"),
        ("high = 256", f"high = {10**40}", "`idx` would hold"),
        ("high = 256", f"high = {10**18 * 10}", "which i64 has not"),
        ("16 * T * K", "T // 0", "`roofline.bytes`: `T // 0` has no number"),
        ("16 * T * K", f"{'(' * 999}T{')' * 999}", "`roofline.bytes`: "),
        ("level = 1", f"level = {'9' * 5000}", "task.toml: "),
        ("level = 1", f"level = {'[' * 5000}{']' * 5000}", "task.toml: "),
        ("solution.py:mask", "solution.py:musk", "`solution.py` has no kernel `musk_indices_by_tp`"),
        ("solution.py:mask", "corpus:moe/none:mask", "`solution`: there is no file"),
        ("solution.py:mask", "elsewhere.py:mask", "is neither `corpus:FAMILY/ENTRY:KERNEL` nor `solution.py:KERNEL`"),
        ('kind = "bit_exact"', 'kind = "bit_exact', "task.toml: "),
        ('torch = "ref', 'cublas = "ref', "`baselines.cublas`: there is no such key; keys are torch"),
        ("reference.py:baseline", "reference.py:bass", "`reference.py:bass` is no `reference.py:FUNCTION`; it has"),
        (
            "reference.py:baseline",
            "reference.py:local",
            "`local` takes v, per_gpu, n_tp, per_dp, rank; a baseline takes idx, per_gpu, n_tp, per_dp, rank, in this",
        ),
    ],
)
def test_what_is_wrong_in_a_task_is_named(folder: Path, old: str, new: str, complaint: str):
    message = spoil(folder, old, new)
    assert complaint in message
    assert message.startswith(str(folder / "task.toml"))


def test_a_task_without_a_file_or_a_reference_is_refused(folder: Path):
    (folder / "reference.py").write_text("def answer(idx):\n    return idx\n")
    with pytest.raises(TaskError, match=r"reference.py: there is no function `reference` in it"):
        read_task(folder)
    (folder / "reference.py").write_text("def reference(:\n")
    with pytest.raises(TaskError, match=r"reference.py: "):
        read_task(folder)
    (folder / "reference.py").unlink()
    with pytest.raises(TaskError, match=r"reference.py: there is no such file"):
        read_task(folder)
    (folder / "task.toml").unlink()
    with pytest.raises(TaskError, match=r"task.toml: there is no such file"):
        read_task(folder)


@pytest.mark.parametrize("name", ["task.toml", "reference.py"])
def test_a_file_that_is_no_text_of_usual_length_is_refused(folder: Path, name: str):
    file = folder / name
    text = file.read_bytes()
    for content in (b"# \xff\n" + text, text + b"#" * MOST_FILE_BYTES, text + b"\nx = " + b"-" * 99999 + b"1\n"):
        file.write_bytes(content)
        with pytest.raises(TaskError, match=name):
            read_task(folder)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(TaskError, match=name):
        read_task(folder)


def test_a_file_that_cannot_be_read_is_named(folder: Path):
    (folder / "more").symlink_to("/proc/self/mem")
    with pytest.raises(TaskError, match="more: "):
        read_task(folder)


def test_a_bound_on_errors_needs_the_reference_in_float64(tmp_path: Path):
    folder = Path(shutil.copytree(default_tasks() / "layer_norm", tmp_path / "layer_norm"))
    reference = folder / "reference.py"
    reference.write_text(reference.read_text().replace("def reference_f64", "def another"))
    with pytest.raises(TaskError, match=r"`criterion.max_error_ratio`: needs `reference_f64` in reference.py"):
        read_task(folder)


def test_a_folder_beside_tasks_is_none_and_half_a_task_hides_no_other(folder: Path):
    (folder.parent / "results").mkdir()
    (folder.parent / "results" / "admission.json").write_text("{}")
    (folder.parent / "half").mkdir()
    assert [task.name for task in read_tasks(folder.parent)] == [folder.name]
    (folder.parent / "half" / "reference.py").write_text("def reference(x):\n    return x\n")
    suite = read_suite(folder.parent)
    assert [task.name for task in suite.tasks] == [folder.name]
    assert [(one.name, one.reason.endswith("there is no such file")) for one in suite.unread] == [("half", True)]
    with pytest.raises(TaskError, match=r"half/task.toml: there is no such file"):
        read_tasks(folder.parent)


def test_a_baseline_takes_sizes_after_what_it_is_called_with_and_may_be_absent(folder: Path):
    file, reference = folder / "task.toml", folder / "reference.py"
    text = reference.read_text()
    head = "def baseline(idx: torch.Tensor, per_gpu: int, n_tp: int, per_dp: int, rank: int"
    assert head in text
    reference.write_text(text.replace(head, f"{head}, K: int"))
    assert read_task(folder).baselines == {"torch": "reference.py:baseline"}
    reference.write_text(text.replace(head, f"{head}, H: int"))
    with pytest.raises(TaskError, match=r"takes idx, per_gpu, n_tp, per_dp, rank, H; a baseline takes idx, .* T, K"):
        read_task(folder)
    reference.write_text(text)
    file.write_text(file.read_text().partition("[baselines]")[0])
    assert read_task(folder).baselines == {}


def test_every_task_that_can_be_solved_has_a_baseline():
    assert [task.name for task in EXPRESSIBLE if not task.baselines] == []


def test_digests_follow_every_file(folder: Path):
    before = read_task(folder)
    assert before.digest == read_task(default_tasks() / before.name).digest
    (folder / "reference.py").write_text((folder / "reference.py").read_text() + "\n")
    after = read_task(folder)
    assert after.digest != before.digest
    assert suite_digest([after]) != suite_digest([before])
    assert suite_digest(TASKS) == suite_digest(reversed(TASKS))


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_the_prompt_names_every_parameter_and_no_other_language(task):
    text = task_text(task, agentkern_signature(task))
    for name in (*(t.name for t in task.tensors), *(s.name for s in task.scalars), *(s.name for s in task.sizes)):
        assert name in text
    words = task.text.lower()
    assert not [word for word in ("agentkern", "cuda", "triton", "ak.", "warp", "thread") if word in words]


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_hidden_shapes_differ_from_the_shown_ones(task):
    shown, hidden = task.shapes.shown, task.shapes.hidden
    assert len(hidden) >= 3
    assert not [sizes for sizes in hidden if sizes in shown]
    # a ratio of errors says nothing of one number
    is_ratio = any(c.max_error_ratio is not None and c.min_equal_share is None for c in task.criterion.outputs.values())
    assert is_ratio or any(1 in sizes.values() for sizes in hidden)
    largest = max(max(sizes.values()) for sizes in shown)
    assert any(
        max(sizes.values()) > largest or task.elements(sizes) > max(map(task.elements, shown)) for sizes in hidden
    )


@pytest.mark.parametrize("task", EXPRESSIBLE, ids=lambda task: task.name)
def test_every_size_has_hidden_numbers_that_are_not_shown(task):
    for size in task.sizes:
        shown, hidden = ({sizes[size.name] for sizes in some} for some in (task.shapes.shown, task.shapes.hidden))
        assert hidden - shown, size.name
    assert not [scalar.name for scalar in task.scalars if not scalar.others and not scalar.dtype.is_float]
