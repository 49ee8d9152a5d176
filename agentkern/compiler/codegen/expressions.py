"""CUDA C++ spelling of every element operation on scalars: tables from (operation, type) to a template.

`{0}`, `{1}`, `{2}` are operands; names that begin with `ak_` are prelude functions, which the printer collects.
"""

from agentkern.compiler.codegen.c_types import C_TYPES, UNSIGNED
from agentkern.compiler.codegen.prelude.functions import function_name
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.dsl.dtypes import DType

_F32: dict[str, str] = {
    "add": "__fadd_rn({0}, {1})", "sub": "__fsub_rn({0}, {1})", "mul": "__fmul_rn({0}, {1})",
    "div": "__fdiv_rn({0}, {1})", "fma": "__fmaf_rn({0}, {1}, {2})", "sqrt": "__fsqrt_rn({0})",
    "maximum": "ak_max_nan_f32({0}, {1})", "minimum": "ak_min_nan_f32({0}, {1})",
    "rsqrt": "ak_rsqrt_f32({0})", "reciprocal": "ak_div_row_rcp({0})", "divide_by": "ak_div_row_f32({0}, {1}, {2})",
    "neg": "ak_neg_f32({0})", "abs": "ak_abs_f32({0})", "sign": "ak_sign_f32({0})", "floor": "ak_floor_f32({0})",
    "ceil": "ak_ceil_f32({0})", "round": "ak_round_f32({0})", "trunc": "ak_trunc_f32({0})",
    "copysign": "ak_copysign_f32({0}, {1})", "isnan": "ak_isnan_f32({0})", "isinf": "ak_isinf_f32({0})",
    "canonical_nan": "ak_canonical_nan_f32({0})",
    **{name: f"{function_name(name)}({{0}})" for name in FUNCTIONS},
}  # fmt: skip

_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_INDEX = {
    "index_add": "+",
    "index_sub": "-",
    "index_mul": "*",
    "index_shr": ">>",
    "index_and": "&",
    "quotient": "/",
    "remainder": "%",
}
_DIVISIONS = {
    "floor_div": ("ak_floor_div", "/"),
    "mod": ("ak_floor_mod", "%"),
    "trunc_div": ("ak_trunc_div", "/"),
    "trunc_mod": ("ak_trunc_mod", "%"),
}
_BOOL = {
    "and": "({0} && {1})", "or": "({0} || {1})", "xor": "({0} != {1})", "not": "!{0}",
    "maximum": "({0} || {1})", "minimum": "({0} && {1})",
}  # fmt: skip
_F64: dict[str, str] = {
    "add": "__dadd_rn({0}, {1})", "sub": "__dsub_rn({0}, {1})", "mul": "__dmul_rn({0}, {1})",
    "div": "__ddiv_rn({0}, {1})", "fma": "__fma_rn({0}, {1}, {2})", "sqrt": "__dsqrt_rn({0})",
    "maximum": "ak_max_nan_f64({0}, {1})", "minimum": "ak_min_nan_f64({0}, {1})",
    "copysign": "ak_copysign_f64({0}, {1})",
    **{
        name: f"ak_{name}_f64({{0}})"
        for name in "rsqrt neg abs sign floor ceil round trunc isnan isinf canonical_nan".split()
    },
}  # fmt: skip
_OPERATIONS: dict[str, dict[str, str]] = {"f32": _F32, "f64": _F64, "bool": _BOOL}


def _integer(name: str, dtype: DType) -> str | None:
    """Two's complement: arithmetic in the unsigned type of the same width, or wider, then cut."""
    c_type = C_TYPES[dtype.name]
    wide = UNSIGNED[max(dtype.bits, 32)]
    if name in _WRAPPING:
        return f"({c_type})(({wide}){{0}} {_WRAPPING[name]} ({wide}){{1}})"
    if name in _BITWISE:
        return f"({c_type})({{0}} {_BITWISE[name]} {{1}})"
    if name == "shl":
        return f"({c_type})({{1}} < {dtype.bits} && {{1}} >= 0 ? ({wide}){{0}} << {{1}} : 0)"
    if name == "shr":
        fill = "{0} < 0 ? -1 : 0" if dtype.kind == "signed" else "0"
        return f"({c_type})({{1}} < {dtype.bits} && {{1}} >= 0 ? {{0}} >> {{1}} : ({fill}))"
    if name in _DIVISIONS:
        return _division(name, dtype)
    return {
        "maximum": "({0} > {1} ? {0} : {1})",
        "minimum": "({0} < {1} ? {0} : {1})",
        "neg": f"({c_type})(({wide})0 - ({wide}){{0}})",
        "abs": f"({{0}} < 0 ? ({c_type})(({wide})0 - ({wide}){{0}}) : {{0}})" if dtype.kind == "signed" else "{0}",
        "sign": "({c})(({0} > 0) - ({0} < 0))".replace("{c}", c_type),
        "not": f"({c_type})~{{0}}",
    }.get(name)


def _division(name: str, dtype: DType) -> str:
    c_type = C_TYPES[dtype.name]
    function, symbol = _DIVISIONS[name]
    if dtype.kind == "unsigned":
        return f"({c_type})({{1}} == 0 ? 0 : {{0}} {symbol} {{1}})"
    width = "i64" if dtype.bits == 64 else "i32"
    return f"({c_type}){function}_{width}({{0}}, {{1}})"


def operation(name: str, dtype: DType) -> str:
    """The template of an element operation on a type. Errors: KeyError when there is none."""
    if name == "where":
        return "({0} ? {1} : {2})"
    if name in _INDEX:
        return f"({{0}} {_INDEX[name]} {{1}})"
    if name in _COMPARISONS:
        return f"({{0}} {_COMPARISONS[name]} {{1}})"
    found = _OPERATIONS.get(dtype.name, {}).get(name)
    if found is None and dtype.is_integer:
        found = _integer(name, dtype)
    if found is None and name == "copysign" and dtype.bits <= 16:
        sign = 1 << (dtype.bits - 1)
        found = f"({C_TYPES[dtype.name]})(({{0}} & {sign - 1:#x}) | ({{1}} & {sign:#x}))"
    if found is None:
        raise KeyError(f"{name} of {dtype}")
    return found


_WIDEN = {
    "bf16": "ak_bf16_to_f32({0})", "f16": "ak_f16_to_f32({0})", "e4m3": "ak_e4m3_to_f32({0})",
    "e5m2": "ak_e5m2_to_f32({0})", "tf32": "{0}", "f64": "ak_cvt_f32_f64({0})", "i32": "ak_cvt_f32_i32({0})",
    "i64": "ak_cvt_f32_i64({0})", "u32": "ak_cvt_f32_u32({0})", "u64": "ak_cvt_f32_u64({0})",
    "i8": "ak_cvt_f32_i32({0})", "i16": "ak_cvt_f32_i32({0})", "u8": "ak_cvt_f32_i32({0})",
    "u16": "ak_cvt_f32_i32({0})", "bool": "({0} ? 1.0f : 0.0f)", "e8m0": "ak_e8m0_to_f32({0})",
}  # fmt: skip
_NARROW = {
    "bf16": "ak_cvt_bf16_f32({0})", "f16": "ak_cvt_f16_f32({0})", "e4m3": "ak_soft_cvt_e4m3_f32({0})",
    "e5m2": "ak_soft_cvt_e5m2_f32({0})", "tf32": "ak_cvt_tf32_f32({0})",
    "e8m0": "ak_cvt_e8m0_f32({0})",
}  # fmt: skip
_OVERFLOWING = {name: f"ak_overflow_cvt_{name}_f32({{0}})" for name in ("e4m3", "e5m2", "e8m0")}
_PAIRS = {
    "bf16": ("unsigned int", "ak_cvt_bf16x2_f32", 16), "f16": ("unsigned int", "ak_cvt_f16x2_f32", 16),
    "e4m3": ("unsigned short", "ak_cvt_e4m3x2_f32", 8), "e5m2": ("unsigned short", "ak_cvt_e5m2x2_f32", 8),
    "e8m0": ("unsigned short", "ak_cvt_e8m0x2_f32", 8),
}  # fmt: skip
_SOFT_PAIRS = {"ak_cvt_e4m3x2_f32": "ak_soft_cvt_e4m3x2_f32", "ak_cvt_e5m2x2_f32": "ak_soft_cvt_e5m2x2_f32"}
FP8_ARCH = 89


def narrow_pair(dtype: DType, arch: int) -> tuple[str, str, int]:
    """(C type, function, bits per element) of the cast of two f32 values at once on an architecture."""
    c_type, function, bits = _PAIRS[dtype.name]
    return c_type, _SOFT_PAIRS.get(function, function) if arch < FP8_ARCH else function, bits


def cast(source: DType, result: DType, *, saturate: bool = True) -> str:
    """The template of a cast, rounded once. `saturate` is of 8-bit floats. Errors: KeyError when there is none."""
    if source is result:
        return "{0}"
    if source.is_float and result.is_float:
        return _between_floats(source, result, saturate)
    if result.is_float:
        return _from_integer(source, result, saturate)
    if source.is_float:
        return _to_integer(source, result)
    return "({0} != 0)" if result.kind == "bool" else f"({C_TYPES[result.name]}){{0}}"


def _between_floats(source: DType, result: DType, saturate: bool) -> str:
    if result.name == "f64":
        return f"ak_cvt_f64_f32({_WIDEN.get(source.name, '{0}')})"
    if result.name == "f32":
        return _WIDEN[source.name]
    # rounded to odd, f32 keeps all of an f64 that a second rounding can see
    single = "ak_odd_f32_f64({0})" if source.name == "f64" else _WIDEN.get(source.name, "{0}")
    return _narrowed(result, saturate).format(single)


def _narrowed(result: DType, saturate: bool) -> str:
    """The template of a cast from f32 to a narrower float."""
    return _NARROW[result.name] if saturate else _OVERFLOWING.get(result.name, _NARROW[result.name])


def _from_integer(source: DType, result: DType, saturate: bool) -> str:
    wide = "u64" if source.name == "u64" else "i64"
    widened = "{0}" if source.bits == 64 else "(long long){0}"
    if result.name == "f64":
        return f"ak_cvt_f64_{wide}({widened})"
    if result.name == "f32":
        return _WIDEN[source.name]
    if source.bits <= 16:
        return _narrowed(result, saturate).format(_WIDEN[source.name])
    return _narrowed(result, saturate).format(f"ak_odd_f32_{wide}({widened})")


def _to_integer(source: DType, result: DType) -> str:
    if source.name == "f64":
        return "({0} != 0.0)" if result.kind == "bool" else f"ak_cvt_{result.name}_f64({{0}})"
    single = _WIDEN.get(source.name, "{0}")
    return f"({single} != 0.0f)" if result.kind == "bool" else f"ak_cvt_{result.name}_f32({single})"


def bitcast(source: DType, result: DType) -> str:
    """The template of a bitcast. Errors: KeyError when there is none."""
    special = {
        ("f32", "u32"): "__float_as_uint({0})", ("u32", "f32"): "__uint_as_float({0})",
        ("f32", "i32"): "__float_as_int({0})", ("i32", "f32"): "__int_as_float({0})",
        ("f64", "i64"): "__double_as_longlong({0})", ("i64", "f64"): "__longlong_as_double({0})",
        ("f64", "u64"): "(unsigned long long)__double_as_longlong({0})",
        ("u64", "f64"): "__longlong_as_double((long long){0})",
    }  # fmt: skip
    return special.get((source.name, result.name)) or f"({C_TYPES[result.name]}){{0}}"
