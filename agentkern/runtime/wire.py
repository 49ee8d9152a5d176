"""Turn plain values into bytes and back, for messages between our own processes.

None, bool, int, float, str, bytes, lists (tuples become lists) and dicts with string keys; nothing else, and nothing
that could name code. Form: length of the JSON text, the text, then the byte strings that it refers to by number.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_BYTES_KEY = "$bytes"

Plain = "None | bool | int | float | str | bytes | list[Plain] | tuple[Plain, ...] | dict[str, Plain]"


class NotPlain(TypeError):
    """A value that messages do not carry."""


class BadMessage(ValueError):
    """Bytes that are no message."""


def encode(value: Any) -> bytes:
    """Encode a plain value.

    Errors: NotPlain.
    """
    blobs: list[bytes] = []
    text = json.dumps(_lower(value, blobs), separators=(",", ":")).encode()
    return b"".join([struct.pack("<Q", len(text)), text, *blobs])


def decode(message: bytes) -> Any:
    """Return the value of a message; tuples come back as lists.

    Errors: BadMessage.
    """
    try:
        (text_bytes,) = struct.unpack_from("<Q", message)
        if 8 + text_bytes > len(message):
            raise ValueError("the text is cut short")
        lowered = json.loads(message[8 : 8 + text_bytes])
        return _raise(lowered, memoryview(message)[8 + text_bytes :])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as e:
        raise BadMessage(f"not a message: {e}") from e


def _lower(value: Any, blobs: list[bytes]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        start = sum(map(len, blobs))
        blobs.append(bytes(value))
        return {_BYTES_KEY: [start, len(blobs[-1])]}
    if isinstance(value, list | tuple):
        return [_lower(item, blobs) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key == _BYTES_KEY:
                raise NotPlain(f"{key!r} cannot be a key of a message")
        return {key: _lower(item, blobs) for key, item in value.items()}
    raise NotPlain(f"a `{type(value).__name__}` cannot be part of a message")


def _raise(value: Any, blobs: memoryview) -> Any:
    if isinstance(value, list):
        return [_raise(item, blobs) for item in value]
    if not isinstance(value, dict):
        return value
    if _BYTES_KEY not in value:
        return {key: _raise(item, blobs) for key, item in value.items()}
    start, length = value[_BYTES_KEY]
    data = bytes(blobs[start : start + length])
    if start < 0 or len(data) != length:
        raise ValueError("a byte string is cut short")
    return data
