from agentkern.diagnostics import Edit, Fix, Label, Span, error, in_source_order, render, render_all

TEXT = "a\nx = a + b\n"
FIELDS = {"operator": "+", "left": "i32", "right": "f32", "to": "f32"}


def test_a_diagnostic_shows_place_label_hint_and_fix():
    label = Label(Span("k.py", (2, 9), (2, 10)), "f32")
    fix = Fix("convert to f32", (Edit((2, 6), (2, 6), ".to(ak.f32)"),))
    shown = render(error("AK205", Span("k.py", (2, 5), (2, 10)), labels=(label,), fixes=(fix,), **FIELDS), TEXT)
    assert shown == (
        "error[AK205]: `+` mixes i32 and f32\n"
        "  --> k.py:2:5\n"
        "    2 | x = a + b\n"
        "      |     ^^^^^\n"
        "    2 | x = a + b\n"
        "      |         - f32\n"
        "  hint: convert one side: `.to(ak.f32)`\n"
        "  fix: convert to f32\n"
        "      - x = a + b\n"
        "      + x = a.to(ak.f32) + b"
    )


def test_a_very_long_line_is_cut_around_the_place():
    text = f"{'a' * 3000}bad{'c' * 3000}"
    shown = render(error("AK205", Span("k.py", (1, 3001), (1, 3004)), **FIELDS), text)
    excerpt, mark = shown.splitlines()[2:4]
    assert len(excerpt) < 200
    assert excerpt[mark.index("^") : mark.rindex("^") + 1] == "bad"


def test_a_place_outside_the_text_is_shown_without_excerpt():
    assert "k.py:7:1" in render(error("AK205", Span("k.py", (7, 1), (7, 1)), **FIELDS), TEXT)


def test_a_finding_about_a_whole_file_or_a_command_line_shows_no_line_of_it():
    shown = render(error("AK805", Span("command line"), option="--dim", reason="no"), TEXT)
    assert shown == "error[AK805]: `--dim`: no\n  --> command line"
    assert "    1 | a" in render(error("AK205", Span("k.py", (1, 1), (1, 2)), **FIELDS), TEXT)


def test_findings_come_in_source_order_and_once():
    late = error("AK205", Span("k.py", (2, 5), (2, 10)), **FIELDS)
    early = error("AK205", Span("k.py", (1, 1), (1, 2)), **FIELDS)
    assert in_source_order((late, early, late)) == (early, late)
    assert render_all((early, late), TEXT).endswith("2 errors")
