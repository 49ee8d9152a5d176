"""Rows of the tables come with their words: codes with pages, operations with documentation, names with docstrings."""

from __future__ import annotations

import pytest

import agentkern
from agentkern.compiler.ir.tables import OPS
from agentkern.diagnostics import CODES, load_page
from agentkern.diagnostics.pages import PAGES
from agentkern.tools import api
from agentkern.tools.explain import explain

MAX_PUBLIC_NAMES = 100
DTYPES = {
    "bf16",
    "bool",
    "e4m3",
    "e5m2",
    "e8m0",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "tf32",
    "u8",
    "u16",
    "u32",
    "u64",
}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_its_page(code: str):
    page = load_page(code)
    assert page is not None
    assert code in page.text.splitlines()[0]
    assert explain(code).text == page.text


def test_every_page_belongs_to_a_code():
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted(CODES)


def test_every_operation_is_documented():
    assert [name for name, spec in OPS.items() if not spec.doc] == []


def test_public_names_of_the_language_are_few_and_there():
    names = list(agentkern.__all__)
    assert len(set(names) - DTYPES) <= MAX_PUBLIC_NAMES
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(agentkern, name)] == []


def test_public_functions_of_the_language_are_documented():
    functions = [name for name in agentkern.__all__ if callable(getattr(agentkern, name))]
    assert [name for name in functions if not getattr(agentkern, name).__doc__] == []


def test_public_names_of_the_tools_are_there():
    assert [name for name in api.__all__ if not hasattr(api, name)] == []
