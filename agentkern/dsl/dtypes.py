"""The one table of element types: names, widths, storage, ranges. Arithmetic lives elsewhere.

Source: IEEE 754-2019; OCP 8-bit floating point specification (OFP8) revision 1.0 for e4m3 and e5m2; OCP
Microscaling formats (MX) specification 1.0 for e8m0.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "signed", "unsigned", "bool"]


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    `bits` is the width of one element in memory. For floats, `mantissa_bits` counts stored fraction bits and
    `max_finite` is the largest finite value. `storage` names the unsigned type of the same width that raw arrays use.
    """

    name: str
    kind: Kind
    bits: int
    mantissa_bits: int = 0
    exponent_bits: int = 0
    max_finite: float = 0.0

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def has_sign(self) -> bool:
        """Whether negative values exist; e8m0 has powers of two only, and no zero either."""
        return self.kind == "signed" or (self.kind == "float" and self.bits > self.exponent_bits + self.mantissa_bits)

    @property
    def is_integer(self) -> bool:
        """Whether values are integers; bool is not."""
        return self.kind in ("signed", "unsigned")

    @property
    def nbytes(self) -> int:
        """Bytes of one element; packed types have none."""
        if self.bits % 8:
            raise ValueError(f"`{self.name}` is packed: {self.bits} bits")
        return self.bits // 8

    @property
    def storage(self) -> str:
        """The raw unsigned NumPy type name of the same width."""
        return f"uint{self.bits}"

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer or bool type."""
        if self.kind == "bool":
            return (0, 1)
        if self.kind == "unsigned":
            return (0, (1 << self.bits) - 1)
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ak.{self.name}"


def _float(name: str, bits: int, exponent_bits: int, mantissa_bits: int, max_finite: float) -> DType:
    return DType(name, "float", bits, mantissa_bits, exponent_bits, max_finite)


f64 = _float("f64", 64, 11, 52, 1.7976931348623157e308)
f32 = _float("f32", 32, 8, 23, 3.4028234663852886e38)
tf32 = _float("tf32", 32, 8, 10, 3.4011621342146535e38)
f16 = _float("f16", 16, 5, 10, 65504.0)
bf16 = _float("bf16", 16, 8, 7, 3.3895313892515355e38)
e4m3 = _float("e4m3", 8, 4, 3, 448.0)
e5m2 = _float("e5m2", 8, 5, 2, 57344.0)
e8m0 = _float("e8m0", 8, 8, 0, 2.0**127)
i8 = DType("i8", "signed", 8)
i16 = DType("i16", "signed", 16)
i32 = DType("i32", "signed", 32)
i64 = DType("i64", "signed", 64)
u8 = DType("u8", "unsigned", 8)
u16 = DType("u16", "unsigned", 16)
u32 = DType("u32", "unsigned", 32)
u64 = DType("u64", "unsigned", 64)
bool_ = DType("bool", "bool", 8)

DTYPES: dict[str, DType] = {
    d.name: d for d in (f64, f32, tf32, f16, bf16, e4m3, e5m2, e8m0, i8, i16, i32, i64, u8, u16, u32, u64, bool_)
}
