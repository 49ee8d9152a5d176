"""The report: one page that needs nothing else, whose numbers are the run's, and that strangers' text cannot change."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.evals.bootstrap import Estimate
from agentkern.evals.ledger import Ledger, read_run, start_run
from agentkern.evals.metrics import success_at_1, tasks_of
from agentkern.evals.records import Timing
from agentkern.evals.report import rate, report_page
from agentkern.evals.report_svg import Series, interval_bar, line_chart, log_ticks, look, short, ticks
from agentkern.evals.report_text import MOST_MESSAGE, MOST_SOURCE, highlighted, messages, visible
from agentkern.tools.commands.eval import command
from agentkern.tools.explain import find_page
from tests.evals.runs import call, header, judgement, sample, submission

HOSTILE = "</code></pre><script>alert(1)</script>\x00\x1b[31m\u202egnp.x\" onload='x' {{ 7 * 7 }} &amp;"


class Page(HTMLParser):
    """Reads a page: its tags, attributes and text; complains about tags that do not close."""

    VOID = ("meta", "line", "circle", "path", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return start_run(tmp_path / "run", header(arms=("agentkern/mcp",), blocked={"gemm": "matrix products"}, epochs=3))


def fill(ledger: Ledger, *, text: str = "kernel") -> None:
    verdicts = ("bit_exact", "wrong", "within_bound", None)
    for number, verdict in enumerate(verdicts * 3):
        timing = Timing(sizes={"N": 8}, median_us=5.0, ci_us=(4, 6), floor_us=1.0, least_us=0.9, baselines={text: 10.0})
        made = judgement(verdict or "wrong", summary=text, timings=(timing,), codes=("AK101",))
        handed_in = (submission(None, judgement=made, source=text, tokens=50 * number),) if verdict else ()
        calls = (call(1, codes=("AK101",), source_digest="a"), call(2, None, refused=text), call(3, source_digest="b"))
        said = json.dumps(
            [{"role": "assistant", "text": text, "calls": [{"tool": text, "arguments": {"source": text}}]}]
        )
        path = ledger.keep_transcript(f"s{number}", said)
        fields = {"task": f"t{number % 4}", "epoch": number, "arm": "agentkern/mcp", "family": text, "calls": calls}
        ledger.append(
            sample(verdict, submissions=handed_in, transcript=path, error=text if not verdict else "", **fields)
        )


def test_a_page_needs_nothing_from_elsewhere_and_closes_its_tags(ledger: Ledger):
    fill(ledger)
    text = report_page([ledger.folder])
    page = Page(text)
    assert page.open == []
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href")]
    assert not re.search(r"url\(|@import|https?://", text)
    assert "default-src 'none'" in text


def test_the_numbers_are_those_of_the_metrics(ledger: Ledger):
    fill(ledger)
    words = " ".join(" ".join(Page(report_page([ledger.folder])).words).split())
    assert "12 samples" in words
    assert rate(Estimate(0.5, 0, 1, 4, 12)) == "50.0%"
    assert "50.0%" in words
    assert "40.0%" in words, "of all tasks: two of the five, one of which is blocked"
    for part in ("gemm", "matrix products", "AK101", "pass@3", "pass^3", "fast 1.5", "Right within so many tokens"):
        assert part in words


def test_hostile_text_stays_text_wherever_it_stands(tmp_path: Path):
    run = start_run(tmp_path, header(id="x", arms=("agentkern/mcp",), blocked={HOSTILE: HOSTILE}, models=(HOSTILE,)))
    fill(run, text=HOSTILE)
    run.append(sample(task=HOSTILE, model=HOSTILE, arm=HOSTILE, submissions=(submission(None, kernel=HOSTILE),)))
    text = report_page([tmp_path])
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert "49" not in re.findall(r"onload='x' (\S+)", " ".join(page.words))
    assert any("alert(1)" in words for words in page.words)


def test_long_texts_are_cut_and_say_so(ledger: Ledger):
    fill(ledger, text="x = 1\n" * 170_000)
    text = report_page([ledger.folder])
    assert len(text) < 5_000_000
    assert f"{6 * 170_000 - MOST_SOURCE} more characters" in text
    assert MOST_MESSAGE < MOST_SOURCE


def test_a_run_without_samples_has_a_page(ledger: Ledger, tmp_path: Path):
    assert "There are no samples in this run yet" in report_page([ledger.folder])
    fill(ledger)
    other = start_run(tmp_path / "other", header(id="run-2", blocked={"a": "b"}))
    page = Page(report_page([ledger.folder, other.folder]))
    assert page.open == []


def test_the_command_writes_the_page_and_refuses_what_is_no_run(ledger: Ledger, tmp_path: Path):
    fill(ledger)
    found = CliRunner().invoke(command, ["report", str(ledger.folder), "-o", str(tmp_path / "page.html")])
    assert found.exit_code == 0, found.output
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert CliRunner().invoke(command, ["report", str(ledger.folder)]).exit_code == 0
    assert (ledger.folder / "report.html").read_text() == (tmp_path / "page.html").read_text()
    (tmp_path / "empty").mkdir()
    assert CliRunner().invoke(command, ["report", str(tmp_path / "empty")]).exit_code != 0
    assert CliRunner().invoke(command, ["report"]).exit_code == 2


def test_highlighting_keeps_the_text(ledger: Ledger):
    source = '@ak.kernel\ndef f(x):  # <b>\n    """a & b"""\n    return x[1.5e3] + "s"\n'
    page = Page(f"<pre>{highlighted(source, 'agentkern')}</pre>")
    assert "".join(page.words) == source
    assert [value for name, value in page.attributes if name == "class"] == [
        "h-mark", "h-word", "h-comment", "h-string", "h-word", "h-number", "h-string",
    ]  # fmt: skip
    cuda = '#include <x>\n__global__ void f(float* p) { p[0] = 1.0f; /* "q" */ }'
    assert "".join(Page(f"<pre>{highlighted(cuda, 'cuda')}</pre>").words) == cuda


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["agentkern", "cuda", "triton"]))
def test_any_text_highlighted_is_the_same_text(text: str, language: str):
    page = Page(f"<pre>{highlighted(text, language)}</pre>")
    assert "".join(page.words) == visible(text)
    assert set(page.tags) <= {"pre", "span"}


@settings(max_examples=30, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.recursive(
            st.none() | st.text(max_size=20),
            lambda x: (
                st.lists(x)
                | st.dictionaries(st.sampled_from(["role", "text", "calls", "tool", "error", "arguments"]), x)
            ),
        ).map(json.dumps),
    )
)
def test_any_transcript_becomes_messages(transcript: str):
    for message in messages(transcript):
        assert message.role.isalpha()
        assert visible(message.text) == message.text


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 1e9))
def test_ticks_are_few_round_and_within(most: float):
    found = ticks(most)
    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= most * (1 + 1e-9)


def test_charts_are_made_of_what_they_are_given():
    chart = line_chart([Series("<a>", 9, ((0.0, 0.0), (10.0, 1.0)))], "calls", "right", steps=True)
    page = Page(str(chart))
    assert page.open == []
    assert "<a>" in page.words
    assert 'class="curve s1"' in chart
    assert 'stroke-dasharray="6 3"' in chart
    assert "H408.0 V10.0" in chart
    assert line_chart([], "x", "y")
    assert 'cx="52.0"' in interval_bar(Estimate(0.5, 0.25, 0.75, 4, 4), 0)
    assert interval_bar(Estimate(None, None, None, 0, 0), 0) == ""
    numbers = (0, 12, 1500, 2_345_678, 999.9, 999_999, 1_234_567_890)
    assert [short(x) for x in numbers] == ["0", "12", "1.5k", "2.35M", "1k", "1M", "1235M"]


def test_a_chart_by_powers_of_ten_puts_each_value_at_its_place():
    chart = line_chart([Series("a", 0, ((0.0, 0.0), (100.0, 0.5), (10000.0, 1.0)))], "tokens", "right", log=True)
    assert 'd="M56.0,210.0 L56.0,110.0 L408.0,10.0"' in chart
    assert line_chart([Series("a", 0, ((0.0, 0.0), (0.0, 1.0)))], "tokens", "right", log=True)
    assert line_chart([], "tokens", "right", log=True)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 1e9), st.floats(10, 1e9))
def test_log_ticks_are_few_and_within(least: float, factor: float):
    found = log_ticks(least, least * factor)
    assert 1 <= len(found) <= 8
    assert least <= found[0] <= found[-1] <= least * factor


def test_groups_of_one_colour_look_apart():
    assert len({look(number) for number in range(32)}) == 32


def test_no_template_braces_and_no_other_counts_stand_on_a_page(ledger: Ledger):
    fill(ledger)
    text = " ".join(Page(report_page([ledger.folder])).words)
    assert find_page("AK101").title.removeprefix("AK101: ") in text
    assert "{" not in text.split("After each diagnostic")[1].split("Every sample")[0]
    assert "1, digest suite, and 1 blocked" in text


def test_the_rate_of_a_group_is_the_rate_of_its_samples(ledger: Ledger):
    fill(ledger)
    found = success_at_1(tasks_of(read_run(ledger.folder).samples))
    assert rate(found) == "50.0%"
