"""Operations on tiles: names, forms and one sentence each. Their meaning is the compiler's.

The front end reads calls of these; in plain Python they cannot run.
"""

from __future__ import annotations

from typing import TypeAlias

from agentkern.dsl.dtypes import DType
from agentkern.dsl.sizes import Size
from agentkern.dsl.stub import not_executed


class Tile:
    """An immutable array value inside a kernel. Scalars are tiles without axes."""


Operand: TypeAlias = Tile | Size | int | float
Axes: TypeAlias = int | tuple[int, ...] | None
Flag: TypeAlias = bool


def maximum(a: Operand, b: Operand) -> Tile:
    """The larger of two values; NaN wins, +0 is larger than -0."""
    raise not_executed("maximum")


def minimum(a: Operand, b: Operand) -> Tile:
    """The smaller of two values; NaN wins, -0 is smaller than +0."""
    raise not_executed("minimum")


def where(condition: Operand, a: Operand, b: Operand) -> Tile:
    """`a` where the condition holds, else `b`; bits are kept."""
    raise not_executed("where")


def fma(a: Operand, b: Operand, c: Operand) -> Tile:
    """`a * b + c` of floats, rounded once."""
    raise not_executed("fma")


def clip(x: Operand, low: Operand, high: Operand) -> Tile:
    """`minimum(maximum(x, low), high)`."""
    raise not_executed("clip")


def copysign(magnitude: Operand, sign: Operand) -> Tile:
    """The magnitude of the first with the sign of the second."""
    raise not_executed("copysign")


def abs(x: Operand) -> Tile:
    """Magnitude."""
    raise not_executed("abs")


def sign(x: Operand) -> Tile:
    """-1, 0 or 1, in the value's dtype."""
    raise not_executed("sign")


def rsqrt(x: Operand) -> Tile:
    """`1 / sqrt(x)`, correctly rounded."""
    raise not_executed("rsqrt")


def sqrt(x: Operand) -> Tile:
    """Square root, correctly rounded."""
    raise not_executed("sqrt")


def exp(x: Operand) -> Tile:
    """`e ** x`, computed in f32; error below 1 ulp."""
    raise not_executed("exp")


def exp2(x: Operand) -> Tile:
    """`2 ** x`, computed in f32; error below 1 ulp; exact for integers."""
    raise not_executed("exp2")


def expm1(x: Operand) -> Tile:
    """`e ** x - 1` without its cancellation, computed in f32; error below 1 ulp."""
    raise not_executed("expm1")


def log(x: Operand) -> Tile:
    """Natural logarithm, computed in f32; error below 1 ulp; -inf of 0, NaN of what is less."""
    raise not_executed("log")


def log2(x: Operand) -> Tile:
    """Logarithm to base 2, computed in f32; error below 1 ulp; exact for powers of 2."""
    raise not_executed("log2")


def log1p(x: Operand) -> Tile:
    """`log(1 + x)` without its cancellation, computed in f32; error below 1 ulp."""
    raise not_executed("log1p")


def tanh(x: Operand) -> Tile:
    """Hyperbolic tangent, computed in f32; error below 1 ulp."""
    raise not_executed("tanh")


def erf(x: Operand) -> Tile:
    """Error function, computed in f32; error below 1 ulp."""
    raise not_executed("erf")


def sin(x: Operand) -> Tile:
    """Sine of radians, computed in f32; error below 1 ulp, however large `x`; NaN of infinities."""
    raise not_executed("sin")


def cos(x: Operand) -> Tile:
    """Cosine of radians, computed in f32; error below 1 ulp, however large `x`; NaN of infinities."""
    raise not_executed("cos")


def sigmoid(x: Operand) -> Tile:
    """`1 / (1 + exp(-x))` as written, in f32."""
    raise not_executed("sigmoid")


def silu(x: Operand) -> Tile:
    """`x / (1 + exp(-x))` as written, in f32; NaN of -inf."""
    raise not_executed("silu")


def softplus(x: Operand) -> Tile:
    """`maximum(x, 0) + log1p(exp(-abs(x)))` as written, in f32."""
    raise not_executed("softplus")


def gelu(x: Operand, approximate: str | None = None) -> Tile:
    """`x * 0.5 * (1 + erf(x * sqrt(1/2)))` as written, in f32; `approximate="tanh"`: the form by tanh."""
    raise not_executed("gelu")


def floor(x: Operand) -> Tile:
    """Largest integral value not above `x`, as a float."""
    raise not_executed("floor")


def ceil(x: Operand) -> Tile:
    """Smallest integral value not below `x`, as a float."""
    raise not_executed("ceil")


def round(x: Operand) -> Tile:
    """Nearest integral value, half to even, as a float."""
    raise not_executed("round")


def trunc(x: Operand) -> Tile:
    """Integral value toward zero, as a float."""
    raise not_executed("trunc")


def isnan(x: Operand) -> Tile:
    """Whether a float is NaN, as bool."""
    raise not_executed("isnan")


def isinf(x: Operand) -> Tile:
    """Whether a float is infinite, as bool."""
    raise not_executed("isinf")


def sum(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Sum over axes, in the fixed order; -0.0 is its identity, an empty sum is +0.0."""
    raise not_executed("sum")


def prod(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Product over axes, in the order of `sum`; 1 of nothing."""
    raise not_executed("prod")


def mean(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """`sum / n` over axes; NaN of nothing."""
    raise not_executed("mean")


def max(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Largest over axes; NaN propagates, -inf of nothing."""
    raise not_executed("max")


def min(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Smallest over axes; NaN propagates, inf of nothing."""
    raise not_executed("min")


def absmax(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Largest magnitude over axes; 0 of nothing."""
    raise not_executed("absmax")


def argmax(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Index of the largest over axes, i64, row-major; the smallest of equals; NaN is the largest, -0 equals +0."""
    raise not_executed("argmax")


def argmin(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Index of the smallest over axes, i64, row-major; the smallest of equals; NaN is the largest, -0 equals +0."""
    raise not_executed("argmin")


def any(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Whether some bool holds over axes."""
    raise not_executed("any")


def all(x: Tile, axis: Axes = None, keepdims: Flag = False) -> Tile:
    """Whether every bool holds over axes."""
    raise not_executed("all")


def cumsum(x: Tile, axis: int | None = None, reverse: Flag = False, exclusive: Flag = False) -> Tile:
    """Running sums along an axis, in the fixed order of scans; `exclusive` begins with 0, `reverse` at the end."""
    raise not_executed("cumsum")


def cummax(x: Tile, axis: int | None = None, reverse: Flag = False, exclusive: Flag = False) -> Tile:
    """Running largest values along an axis; NaN propagates; `exclusive` begins with -inf or the smallest integer."""
    raise not_executed("cummax")


def topk(x: Tile, k: int, axis: int = -1) -> tuple[Tile, Tile]:
    """The k largest along an axis and their indices (i64), largest first; equals by smaller index, NaN is largest.

    For k over 64 an axis of up to 8192 elements, static or promised (`ak.dim("N", max=8192)`), is sorted on the chip.
    """
    raise not_executed("topk")


def sort(x: Tile, axis: int = -1) -> Tile:
    """The elements in ascending order along an axis, equals as they stood; NaN last, -0 equals +0.

    An axis of up to 8192 elements, static or promised (`ak.dim("N", max=8192)`), stays on the chip; others take memory.
    """
    raise not_executed("sort")


def occurrence(keys: Tile, axis: int = -1) -> Tile:
    """How many equal elements come earlier along an axis, as i32.

    An axis of up to 8192 elements, static or promised (`ak.dim("N", max=8192)`), stays on the chip; others take memory.
    """
    raise not_executed("occurrence")


def bincount(x: Tile, n: Operand) -> Tile:
    """How many elements are 0, 1, ... n - 1, as i32; others are not counted."""
    raise not_executed("bincount")


def trunc_div(a: Operand, b: Operand) -> Tile:
    """Integer quotient rounded toward zero; `//` rounds down."""
    raise not_executed("trunc_div")


def trunc_mod(a: Operand, b: Operand) -> Tile:
    """Remainder of `trunc_div`, with the sign of `a`; `%` has the sign of `b`."""
    raise not_executed("trunc_mod")


def arange(n: Operand) -> Tile:
    """The numbers 0 to n - 1 as i64."""
    raise not_executed("arange")


def concat(tiles: tuple[Tile, ...], axis: int = 0) -> Tile:
    """Tiles one after another along an axis."""
    raise not_executed("concat")


def stack(tiles: tuple[Tile, ...], axis: int = 0) -> Tile:
    """Tiles of one shape along a new axis."""
    raise not_executed("stack")


def repeat(x: Tile, repeats: int, axis: int | None = None) -> Tile:
    """Each element `repeats` times in a row along an axis; without one, of all elements in row-major order."""
    raise not_executed("repeat")


def last(x: Tile, axis: int = -1) -> Tile:
    """The last present position of an axis, which may be clipped but not empty."""
    raise not_executed("last")


def take_along_axis(x: Tile, indices: Tile, axis: int = -1) -> Tile:
    """Along an axis, the elements at the positions that `indices` names, NumPy's; none may be outside, none wraps."""
    raise not_executed("take_along_axis")


def philox(seed: Operand, index: Operand) -> tuple[Tile, Tile, Tile, Tile]:
    """Four tiles of random u32: Philox4x32-10 of the 64-bit seed as key and the 64-bit index as counter."""
    raise not_executed("philox")


def zeros(shape: object, dtype: DType) -> Tile:
    """A tile of zeros; block variables and sizes stand in `shape`."""
    raise not_executed("zeros")


def full(shape: object, value: Operand, dtype: DType) -> Tile:
    """A tile of one value; block variables and sizes stand in `shape`."""
    raise not_executed("full")


def broadcast_to(x: Tile, shape: object) -> Tile:
    """The tile repeated along new and unit axes to `shape`."""
    raise not_executed("broadcast_to")


def load(x: Tile, where: Operand | None = None, fill: Operand | None = 0) -> Tile:
    """`x[...]` where the condition holds, else `fill`; without a condition, `fill` where a position is outside."""
    raise not_executed("load")


def atomic_add(y: Tile, value: Operand, where: Operand | None = None) -> None:
    """Add to elements that hold values already, whatever else adds to them; integers wrap.

    Floats (f16, bf16, f32, f64) need `@ak.kernel(nondeterministic=True)`: their rounding follows the order of threads.
    """
    raise not_executed("atomic_add")


def atomic_max(y: Tile, value: Operand, where: Operand | None = None) -> None:
    """The larger one to elements that hold values already, integers or floats; as `ak.maximum`, in any order."""
    raise not_executed("atomic_max")


def atomic_min(y: Tile, value: Operand, where: Operand | None = None) -> None:
    """The smaller one to elements that hold values already, integers or floats; as `ak.minimum`, in any order."""
    raise not_executed("atomic_min")


def require(condition: Operand, message: str) -> None:
    """Stop the launch where the condition does not hold; what follows may rely on it."""
    raise not_executed("require")


def store(y: Tile, value: Operand, where: Operand | None = None, distinct: Flag = False) -> None:
    """`y[...] = value` where the condition holds; `distinct` promises that no element is written twice."""
    raise not_executed("store")
