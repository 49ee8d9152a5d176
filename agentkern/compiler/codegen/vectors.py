"""Prelude functions that take one access apart into elements and put elements together into one."""

from dataclasses import dataclass
from functools import lru_cache

from agentkern.compiler.codegen.c_types import UNSIGNED
from agentkern.compiler.codegen.prelude import PreludeFunction

_ACCESSES: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("u8", ("v",)), 2: ("u16", ("v",)), 4: ("u32", ("v",)), 8: ("v2u32", ("v.x", "v.y")),
    16: ("v4u32", ("v.x", "v.y", "v.z", "v.w")),
}  # fmt: skip
_ACCESS_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}
_SOURCE = "little-endian element order of global and shared memory"


@dataclass(frozen=True, slots=True)
class VectorAccess:
    """`count` elements of `bits` each, moved at once. `c_type` is the elements' type in registers."""

    bits: int
    count: int
    c_type: str

    @property
    def nbytes(self) -> int:
        """Bytes of the access."""
        return self.bits * self.count // 8

    @property
    def accessor(self) -> str:
        """Suffix of the memory accessor, such as `v4u32`."""
        return "u64" if self.bits == 64 and self.count == 1 else _ACCESSES[self.nbytes][0]

    @property
    def value_type(self) -> str:
        """C type of the whole access."""
        return "unsigned long long" if self.accessor == "u64" else _ACCESS_TYPES[self.nbytes]

    @property
    def suffix(self) -> str:
        """Part of the functions' names: element type and count."""
        names = {"float": "f32", "double": "f64", "int": "i32", "long long": "i64", "short": "i16", "signed char": "i8"}
        return f"{names.get(self.c_type, f'u{self.bits}')}x{self.count}"


def _words(access: VectorAccess) -> tuple[str, ...]:
    return ("v",) if access.accessor == "u64" else _ACCESSES[access.nbytes][1]


def _from_bits(access: VectorAccess, expression: str) -> str:
    if access.c_type == "float":
        return f"__uint_as_float({expression})"
    if access.c_type == "double":
        return f"__longlong_as_double((long long)({expression}))"
    return f"({access.c_type})({expression})"


def _to_bits(access: VectorAccess, expression: str) -> str:
    if access.c_type == "float":
        return f"__float_as_uint({expression})"
    if access.c_type == "double":
        return f"(unsigned long long)__double_as_longlong({expression})"
    return f"({UNSIGNED[access.bits]})({expression})"


def _unpack_body(access: VectorAccess) -> str:
    words = _words(access)
    lines: list[str] = []
    for k in range(access.count):
        if access.bits == 64 and len(words) > 1:
            low, high = words[2 * k], words[2 * k + 1]
            bits = f"((unsigned long long){high} << 32) | {low}"
        else:
            word_bits = 64 if access.accessor == "u64" else min(32, 8 * access.nbytes)
            word, shift = divmod(k * access.bits, word_bits)
            bits = f"{words[word]} >> {shift}" if shift else words[word]
        lines.append(f"to[{k}] = {_from_bits(access, bits)};")
    return "\n".join(lines)


def _pack_body(access: VectorAccess) -> str:
    if access.count == 1:
        return (
            f"return ({access.value_type})({_to_bits(access, 'from[0]')});"
            if access.bits < 64
            else (f"return {_to_bits(access, 'from[0]')};")
        )
    lines = [f"{access.value_type} v;"]
    for number, word in enumerate(_words(access)):
        if access.bits == 64:
            bits, shift = _to_bits(access, f"from[{number // 2}]"), 32 * (number % 2)
            lines.append(f"{word} = (unsigned int)({bits} >> {shift});")
            continue
        per_word = min(32, 8 * access.nbytes) // access.bits
        pieces = [
            f"((unsigned int){_to_bits(access, f'from[{number * per_word + k}]')}"
            + (f" << {k * access.bits})" if k else ")")
            for k in range(per_word)
        ]
        lines.append(f"{word} = ({'unsigned short' if access.nbytes == 2 else 'unsigned int'})({' | '.join(pieces)});")
    return "\n".join([*lines, "return v;"])


@lru_cache(maxsize=256)
def unpack(access: VectorAccess) -> PreludeFunction:
    """`ak_unpack_T(T* to, V v)`: the elements of one access, lowest address first."""
    return PreludeFunction(
        f"void ak_unpack_{access.suffix}({access.c_type}* to, {access.value_type} v)",
        "math",
        _unpack_body(access),
        "elements of one access, lowest address first",
        _SOURCE,
    )


@lru_cache(maxsize=256)
def pack(access: VectorAccess) -> PreludeFunction:
    """`ak_pack_T(const T* from)`: one access made of neighbouring elements."""
    return PreludeFunction(
        f"{access.value_type} ak_pack_{access.suffix}(const {access.c_type}* from)",
        "math",
        _pack_body(access),
        "one access made of neighbouring elements",
        _SOURCE,
    )
