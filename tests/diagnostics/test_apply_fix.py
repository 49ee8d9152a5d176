import pytest

from agentkern.diagnostics import Edit, Fix, apply_fix

TEXT = "first\nsecond line\r\nthird\n"


def test_edits_are_applied_to_the_original_places():
    fix = Fix("swap", (Edit((1, 1), (1, 6), "1"), Edit((2, 8), (2, 12), "row"), Edit((3, 1), (3, 1), "a ")))
    assert apply_fix(TEXT, fix) == "1\nsecond row\r\na third\n"


def test_columns_count_characters():
    assert apply_fix("größe = 1\n", Fix("rename", (Edit((1, 1), (1, 6), "size"),))) == "size = 1\n"


def test_an_edit_may_span_lines():
    assert apply_fix("a(\n  b,\n)\n", Fix("join", (Edit((1, 3), (3, 1), "b"),))) == "a(b)\n"


@pytest.mark.parametrize(
    "edits",
    [
        (Edit((9, 1), (9, 1), "x"),),
        (Edit((1, 1), (1, 999), "x"),),
        (Edit((1, 1), (1, 4), "x"), Edit((1, 2), (1, 3), "y")),
        (Edit((2, 3), (1, 1), "x"),),
    ],
)
def test_impossible_edits_are_refused(edits: tuple[Edit, ...]):
    with pytest.raises(ValueError, match=r"outside|overlap"):
        apply_fix(TEXT, Fix("bad", edits))
