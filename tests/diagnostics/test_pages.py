"""Pages are true: the wrong kernel gives what the page says, fixes work, the corrected kernel compiles."""

import pytest

from agentkern.diagnostics import CODES, Page, apply_fix, load_page, render
from agentkern.diagnostics.pages import PAGES
from tests.diagnostics.page_cases import pages, reported

# Codes of kernel text whose example cannot stand in a page; tests of the front end make them.
WITHOUT_EXAMPLE = {"AK102", "AK103"}
WRONG = [page for page in pages() if page.wrong]
RIGHT = [page for page in pages() if page.right]


def test_codes_and_pages_are_the_same_set():
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted(CODES)


def test_every_code_of_the_front_end_has_both_kernels():
    codes = {code for code, row in CODES.items() if row.source == "frontend"} - WITHOUT_EXAMPLE
    assert codes <= {page.code for page in WRONG}
    assert codes <= {page.code for page in RIGHT}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.code)
def test_page_has_title_and_prose(page: Page):
    title, prose = page.text.splitlines()[:2]
    assert title.startswith(f"# {page.code}: ")
    assert len(prose.split()) >= 5


@pytest.mark.parametrize("page", WRONG, ids=lambda page: page.code)
def test_wrong_kernel_gives_exactly_what_the_page_reports(page: Page):
    found = reported(page, page.wrong)
    assert [diagnostic.code for diagnostic in found] == [page.code]
    assert render(found[0], page.wrong) + "\n" == page.reported


@pytest.mark.parametrize("page", RIGHT, ids=lambda page: page.code)
def test_corrected_kernel_is_accepted(page: Page):
    assert reported(page, page.right, is_right=True) == ()


@pytest.mark.parametrize("page", WRONG, ids=lambda page: page.code)
def test_every_fix_makes_the_kernel_compile(page: Page):
    for diagnostic in reported(page, page.wrong):
        for fix in diagnostic.fixes:
            assert reported(page, apply_fix(page.wrong, fix)) == ()


def test_an_unknown_code_has_no_page():
    assert load_page("AK199") is None
    assert load_page("../AK101") is None
