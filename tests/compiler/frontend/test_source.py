"""Texts that are no kernel files: each gives a diagnostic, none an exception."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import decode_source, lower_source
from agentkern.compiler.frontend.source import MAX_CHARACTERS, MAX_DEPTH
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

SIGNATURE = "x: ak.In[ak.f32, T], out: ak.Out[ak.f32, T]"


def sized(expression: str) -> str:
    return text_of(SIGNATURE, f"for t in ak.grid(T):\n    out[t] = {expression}")


GOOD = sized("x[t]")
BROKEN = {
    "empty": ("", "AK112"),
    "comment": ("# nothing\n", "AK112"),
    "no colon": (GOOD.replace("ak.grid(T):", "ak.grid(T)"), "AK101"),
    "bad indent": (GOOD.replace("        out", "   out"), "AK101"),
    "unclosed": ("import agentkern as ak\nx = (((((", "AK101"),
    "unclosed string": ('x = "abc', "AK101"),
    "nul": (GOOD + "\0", "AK102"),
    "surrogate": (f"x = '{chr(0xD800)}'\n" + GOOD, "AK102"),
    "huge": (GOOD + "#" * MAX_CHARACTERS, "AK103"),
    "deep unary": (sized("-" * 5000 + "x[t]"), "AK104"),
    "deep sum": (sized("+".join(["x[t]"] * 5000)), "AK104"),
    "deep brackets": (sized("(" * 150 + "x[t]" + ")" * 150), None),
    "too deep brackets": (sized("(" * 5000 + "x[t]" + ")" * 5000), None),
    "deep subscripts": (sized("x" + "[t]" * 3000), "AK104"),
    "deep attribute": (sized("x" + ".a" * 3000), "AK104"),
    "huge integer": (sized("x[t] * 0x" + "f" * 5000), "AK501"),
    "huge decimal": (sized("x[t] * 1" + "0" * 5000), "AK101"),
    "huge float": (sized("x[t] * 1e400"), "AK501"),
    "huge power": (sized("x[t] * 9**9**9"), "AK504"),
    "huge shift": (sized("x[t] * (1 << 10**9)"), "AK504"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_text_gives_one_diagnostic(name: str):
    text, code = BROKEN[name]
    found = lower_source(text, "kernel.py", None, {}, {})
    if code is not None:
        assert [diagnostic.code for diagnostic in found.diagnostics] == [code]
    else:
        assert {diagnostic.code for diagnostic in found.diagnostics} <= {"AK101", "AK104"}
    for diagnostic in found.diagnostics:
        assert len(diagnostic.message) < 300


def test_nesting_up_to_the_limit_is_accepted():
    accepted(sized("+".join(["x[t]"] * (MAX_DEPTH - 12))))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_do_not_move_places(ending: str):
    (found,) = lower(sized("y").replace("\n", ending)).diagnostics
    assert found.code == "AK201"
    assert found.span.start == (10, 18)


def test_form_feeds_and_unicode_lines_do_not_move_places():
    text = sized("y").replace("import", "# a\x0cb\x1dc\u2028d\nimport", 1)
    (found,) = lower(text).diagnostics
    assert found.span.start == (11, 18)


def test_columns_count_characters_not_bytes():
    text = sized("x[t] + y").replace("out[t]", "größe = 'ßß'; out[t]")
    (found,) = lower(text).diagnostics
    line = text.splitlines()[found.span.start[0] - 1]
    assert line[found.span.start[1] - 1 : found.span.end[1] - 1] == "y"


def test_tabs_and_a_byte_order_mark_are_accepted():
    accepted("\ufeff" + GOOD.replace("    ", "\t"))


def test_an_invalid_escape_in_a_docstring_is_no_warning():
    accepted(text_of(SIGNATURE, '"""\\d"""\nfor t in ak.grid(T):\n    out[t] = x[t]'))


def test_bytes_that_are_not_utf8_are_rejected_with_their_place():
    text, (found,) = decode_source(b"# ok\n# \xff\n", "kernel.py")
    assert text == ""
    assert found.code == "AK102"
    assert found.span.start == (2, 1)
    assert "0xff at offset 7" in found.message


def test_utf8_bytes_are_decoded():
    assert decode_source("# größe\n".encode(), "kernel.py") == ("# größe\n", ())
    assert decode_source(b"\xef\xbb\xbf# bom\n", "kernel.py") == ("# bom\n", ())


def test_huge_bytes_are_not_decoded():
    assert decode_source(b"#" * (MAX_CHARACTERS + 1), "kernel.py")[1][0].code == "AK103"


def test_files_name_their_kernels_even_with_errors():
    found = lower_source(sized("y"), "kernel.py", None, {}, {})
    assert found.kernels == ("kernel",)
    assert codes(found) == ["AK201"]
