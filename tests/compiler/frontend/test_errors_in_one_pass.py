"""All errors of a kernel come at once, each once, and nothing follows from an error already reported."""

from __future__ import annotations

import pytest

from agentkern.diagnostics import apply_fix
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

SIGNATURE = "x: ak.In[ak.f32, T, H], i: ak.In[ak.i32, T, H], out: ak.Out[ak.f32, T, H]"


def test_independent_errors_are_all_reported():
    body = (
        "for t in ak.grid(T):\n"
        "    a = ak.fmax(x[t, :], 0)\n"
        "    b = x[t, :] + i[t, :]\n"
        "    c = ak.sum(rows, axis=1)\n"
        "    d = x[t, :, 0] + undefined\n"
        "    out[t, :] = a + b + c + d\n"
        "    i[t, :] = 0"
    )
    assert codes(lower(text_of(SIGNATURE, body))) == ["AK202", "AK205", "AK201", "AK208", "AK201", "AK311"]


def test_nothing_follows_from_an_unknown_name():
    body = "y = nothing\nz = y + 1\nfor t in ak.grid(T):\n    w = z[t].foo(y)\n    out[t, z] = w.T + z * w"
    assert codes(lower(text_of(SIGNATURE, body))) == ["AK201"]


def test_a_rejected_loop_hides_what_it_would_bind_and_write():
    body = "for t in ak.steps(T):\n    y = x[t, :]\n    out[t, :] = y\nz = y + 1"
    assert codes(lower(text_of(SIGNATURE, body))) == ["AK110"]


def test_a_store_of_a_rejected_value_counts_as_written():
    assert codes(lower(text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = nothing"))) == ["AK201"]


def test_a_rejected_store_counts_as_written():
    rejected = "for t in ak.grid(T):\n    out.reshape(T + H)[t] = 0.0\n    x[t, :]"
    assert codes(lower(text_of(SIGNATURE, rejected))) == ["AK212", "AK119"]
    assert codes(lower(text_of(SIGNATURE, "for t in ak.grid(T):\n    ak.store(out[t, :], 0.0, mask=True)"))) == [
        "AK122"
    ]


def test_shapes_that_wait_for_a_static_number_say_so():
    text = text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = x[t, :].reshape(t, H // G, G).reshape(t, H)")
    (found,) = lower(text).diagnostics
    assert (found.code, found.data["name"]) == ("AK803", "H")
    accepted(text, {"H": 64, "G": 16})
    assert codes(lower(text, {"H": 64, "G": 15})) == ["AK212"]


def test_a_kernel_that_waits_for_a_static_number_still_has_parameters_and_sizes():
    text = text_of(
        SIGNATURE,
        "for t in ak.grid(T):\n    y = x[t, :]\n    for k in range(G):\n        y = y + 1.0\n    out[t, :] = y",
    )
    waiting = lower(text)
    assert waiting.kernel is None
    assert waiting.outline is not None
    assert [info.name for info in waiting.outline.sizes if info.static] == ["H", "G"]
    assert [param.name for param in waiting.outline.params] == ["x", "i", "out"]
    whole = lower(text, {"H": 64, "G": 2})
    assert whole.outline is whole.kernel is not None
    assert lower(text.replace("x[t, :]", "nothing")).outline is None


def test_a_size_read_from_a_shape_is_replaced_by_its_name():
    text = text_of(
        SIGNATURE, "for t in ak.grid(x.shape[0]):\n    out[t, :] = x[t, :] + ak.zeros((t, x.shape[-1]), ak.f32)"
    )
    for _ in range(2):
        found = lower(text).diagnostics
        assert {diagnostic.code for diagnostic in found} == {"AK204"}
        text = apply_fix(text, found[0].fixes[0])
    accepted(text)


def test_a_store_through_two_subscripts_is_one_error():
    assert codes(lower(text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t][:, :] = 0.0"))) == ["AK313"]


def test_a_missing_import_is_one_error_and_the_rest_is_checked():
    text = text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = x[t, :] + nothing").replace(
        "import agentkern as ak\n", ""
    )
    first, second = lower(text).diagnostics
    assert (first.code, second.code) == ("AK201", "AK201")
    assert codes(lower(apply_fix(text, first.fixes[0]))) == ["AK201"]


def test_an_undefined_size_is_one_error_and_its_fix_compiles():
    text = text_of(SIGNATURE.replace("T", "ROWS"), "for t in ak.grid(ROWS):\n    out[t, :] = x[t, :]")
    (found,) = lower(text).diagnostics
    assert found.code == "AK203"
    accepted(apply_fix(text, found.fixes[0]))


def test_fixes_of_several_errors_compile_one_after_another():
    text = text_of(
        SIGNATURE,
        "for t in range(T):\n    y = max(x[t, :], i[t, :])\n    out[t, :] = 0 < y.astype(ak.bf16) < 1",
    )
    for _ in range(10):
        found = lower(text).diagnostics
        if not found:
            break
        text = apply_fix(text, found[0].fixes[0])
    assert lower(text).diagnostics == ()


def test_a_mixed_dtype_shows_both_sides():
    (found,) = lower(text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = x[t, :] * i[t, :]")).diagnostics
    assert [label.text for label in found.labels] == ["f32", "i32"]
    assert found.data == {"operator": "*", "left": "f32", "right": "i32", "to": "f32"}


def test_a_shape_mismatch_names_the_sizes():
    (found,) = lower(
        text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = x[t, :] + ak.zeros((t, G), ak.f32)")
    ).diagnostics
    assert found.message == "shapes (t, H) and (t, G) do not broadcast: `H` and `G` differ"


def test_a_kernel_in_another_librarys_spelling_shows_every_error_at_once():
    body = (
        "acc = 0.0\n"
        "for t in range(T):\n"
        "    row = x[t, :].astype(ak.float32)\n"
        "    s = ak.rsqrt((row * row).sum(axis=1) / x.shape[1])\n"
        "    acc += s\n"
        "    out[t, :] = row * s"
    )
    found = lower(text_of(SIGNATURE, body)).diagnostics
    assert [d.code for d in found] == ["AK408", "AK204", "AK202", "AK204", "AK204", "AK410", "AK207"]
    assert [len(d.fixes) for d in found] == [1, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("(x[t, :] + 1.0).float()", "(x[t, :] + 1.0).to(ak.f32)"),
        ("(x[t, :] + 1.0).reshap(t, H)", "(x[t, :] + 1.0).reshape(t, H)"),
        ("(-x[t, :]).float()", "(-x[t, :]).to(ak.f32)"),
        ("x[t, :].float()", "x[t, :].to(ak.f32)"),
        ("(x[t, :] + 1.0).sum(axis=1, keepdims=True)", "ak.sum(x[t, :] + 1.0, axis=1, keepdims=True)"),
    ],
)
def test_the_fix_of_a_method_keeps_what_stands_in_parentheses_together(wrong: str, right: str):
    text = text_of(SIGNATURE, "for t in ak.grid(T):\n    out[t, :] = 1.0 * value")
    found = lower(text.replace("value", wrong)).diagnostics
    assert apply_fix(text.replace("value", wrong), found[0].fixes[0]) == text.replace("value", right)
    accepted(text.replace("value", right))
