import json

import jsonschema

from agentkern.diagnostics import SCHEMA, Edit, Fix, Label, Span, error, to_json


def _example() -> dict[str, object]:
    span = Span("k.py", (2, 5), (2, 10))
    fix = Fix("convert to f32", (Edit((2, 10), (2, 10), ".to(ak.f32)"),))
    fields = {"operator": "+", "left": "i32", "right": float("inf"), "to": ("f32", None)}
    return to_json(error("AK205", span, labels=(Label(span, "i32"),), fixes=(fix,), **fields))


def test_json_obeys_its_schema():
    jsonschema.validate(_example(), SCHEMA)


def test_json_is_plain_and_strict():
    text = json.dumps(_example(), allow_nan=False)
    assert json.loads(text)["data"] == {"operator": "+", "left": "i32", "right": "inf", "to": ["f32", None]}
    assert json.loads(text)["fixes"][0]["edits"] == [{"start": [2, 10], "end": [2, 10], "text": ".to(ak.f32)"}]
