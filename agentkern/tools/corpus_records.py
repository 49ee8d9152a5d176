"""Write records into a meta.toml: one table at the end of the file for each kind, the rest kept as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence


def with_record(meta_text: str, section: str, record: Mapping[str, object]) -> str:
    """Return the text with table `section` replaced, or added at the end. Values: text, numbers, lists, flat tables."""
    kept = re.sub(rf"\n*^\[{section}\]\n(?:(?!\[).*\n?)*", "\n", meta_text, flags=re.MULTILINE).rstrip("\n")
    lines = [f"{key} = {toml_value(value)}" for key, value in record.items()]
    return "\n".join([kept, "", f"[{section}]", *lines]) + "\n"


def toml_value(value: object) -> str:
    """Return a value in TOML; lists of tables stand one to a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are a subset of those of TOML's basic strings
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, Sequence):
        items = [toml_value(item) for item in value]
        if any(isinstance(item, Mapping) for item in value):
            # an array may break lines; a line of it never begins with a bracket, which ends a table here
            return "[\n" + "".join(f"  {item},\n" for item in items) + "]"
        return f"[{', '.join(items)}]"
    raise TypeError(f"a record cannot hold {type(value).__name__}")
