"""The record of the tests of a GPU counts what a report holds."""

from pathlib import Path

from evals.exactness.gpu_tests import by_file

REPORT = """<testsuites><testsuite>
<testcase classname="tests.gpu.test_a" name="x"/>
<testcase classname="tests.gpu.test_a" name="y"><failure message="no"/></testcase>
<testcase classname="tests.gpu.test_b" name="z"><skipped message="why"/></testcase>
<testcase classname="tests.gpu.test_b" name="w"><error message="no"/></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_counted_by_file(tmp_path: Path):
    (tmp_path / "report.xml").write_text(REPORT)
    assert by_file(tmp_path / "report.xml") == {
        "test_a": {"passed": 1, "failed": 1},
        "test_b": {"skipped": 1, "failed": 1},
    }
