"""Read what a cubin says of its own kernels: registers, stack, parameters.

An independent check of the compiler's log and of how arguments are packed. Reads bytes, calls nothing. A cubin is an
ELF file; the attribute numbers of its `.nv.info` sections are those that `cuobjdump -elf` of CUDA 13 gives names to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SHT_SYMTAB = 2
_SECTION_FORMAT = "<IIQQQQIIQQ"
_SYMBOL_FORMAT = "<IBBHQQ"
_ATTRIBUTE_FRAME_SIZE = 0x11
_ATTRIBUTE_REGISTERS = 0x2F
_ATTRIBUTE_PARAMETER = 0x17
_FORMAT_SIZED = 0x04


class NotACubin(ValueError):
    """The bytes are no CUDA ELF file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class CubinKernel:
    """One kernel: `parameters` holds offset and size in bytes of each parameter, in order."""

    name: str
    registers: int
    stack_bytes: int
    parameters: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Section:
    name_offset: int
    kind: int
    data: memoryview
    link: int


def kernels_of(cubin: bytes) -> tuple[CubinKernel, ...]:
    """Return the kernels of `cubin`, in the order of their names.

    Errors: NotACubin.
    """
    try:
        return _kernels(cubin)
    except (struct.error, IndexError, KeyError, StopIteration, UnicodeDecodeError) as e:
        raise NotACubin(f"damaged cubin of {len(cubin)} bytes") from e


def _kernels(cubin: bytes) -> tuple[CubinKernel, ...]:
    if cubin[:4] != b"\x7fELF":
        raise NotACubin("not an ELF file")
    sections, names = _sections(cubin)
    by_name = {_text(names, section.name_offset): section for section in sections}
    symtab = next(section for section in sections if section.kind == _SHT_SYMTAB)
    strings = sections[symtab.link].data
    symbol_names = [_text(strings, row[0]) for row in struct.iter_unpack(_SYMBOL_FORMAT, symtab.data)]
    registers: dict[str, int] = {}
    stack: dict[str, int] = {}
    for attribute, payload in _attributes(by_name[".nv.info"].data):
        if attribute in (_ATTRIBUTE_REGISTERS, _ATTRIBUTE_FRAME_SIZE):
            symbol, value = struct.unpack("<II", payload)
            table = registers if attribute == _ATTRIBUTE_REGISTERS else stack
            table[symbol_names[symbol]] = value
    return tuple(
        CubinKernel(name, registers[name], stack.get(name, 0), _parameters(by_name[f".nv.info.{name}"].data))
        for name in sorted(registers)
        if f".nv.info.{name}" in by_name
    )


def _sections(cubin: bytes) -> tuple[list[_Section], memoryview]:
    view = memoryview(cubin)
    (table_offset,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    sections: list[_Section] = []
    for index in range(count):
        row = struct.unpack_from(_SECTION_FORMAT, cubin, table_offset + index * entry_bytes)
        sections.append(_Section(row[0], row[1], view[row[4] : row[4] + row[5]], row[6]))
    return sections, sections[names_index].data


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    offset = 0
    while offset < len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, offset)
        offset += 4
        payload_bytes = value if form == _FORMAT_SIZED else 0
        yield attribute, data[offset : offset + payload_bytes]
        offset += payload_bytes


def _parameters(data: memoryview) -> tuple[tuple[int, int], ...]:
    found: dict[int, tuple[int, int]] = {}
    for attribute, payload in _attributes(data):
        if attribute == _ATTRIBUTE_PARAMETER:
            _, ordinal, offset, flags = struct.unpack("<IHHI", payload)
            found[ordinal] = (offset, flags >> 18)
    return tuple(found[ordinal] for ordinal in sorted(found))


def _text(strings: memoryview, offset: int) -> str:
    return bytes(strings[offset:]).split(b"\0", 1)[0].decode()
