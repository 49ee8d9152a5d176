import string

import pytest

from agentkern.diagnostics import CODES, Span, error, status_of

FIELDS = ("hint_text", "instead", "reason", "name")


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("code", sorted(CODES))
def test_row_is_well_formed(code: str):
    row = CODES[code]
    assert row.code == code
    assert not row.message.endswith(".")
    assert row.message[0] in "`{'" or row.message[0].islower() or row.message.startswith(("NVRTC", "`", "{"))
    diagnostic = error(code, Span("k.py"), **dict.fromkeys(_fields(row.message + row.hint), "x"))
    assert diagnostic.code == code
    assert "{" not in diagnostic.message


def test_a_missing_field_is_our_bug():
    with pytest.raises(KeyError):
        error("AK205", Span("k.py"), left="i32")


def test_rejected_outranks_unsupported_and_unproved():
    fields = {"name": "x", "instead": "y", "statement": "s", "tensor": "t", "what": "z"}
    rejected = error("AK310", Span("k.py"), **fields)
    unsupported = error("AK601", Span("k.py"), **fields)
    unproved = error("AK302", Span("k.py"), **fields)
    assert status_of((unproved, unsupported, rejected)) == "rejected"
    assert status_of((unproved, unsupported)) == "unsupported"
    assert status_of((unproved,)) == "unproved"
    assert status_of(()) == "ok"
