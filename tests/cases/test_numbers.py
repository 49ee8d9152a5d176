"""What goes wrong in numbers: NaN, signed zeros, narrow formats, identities, widths of integers, literals.

| what went wrong elsewhere | here |
|---|---|
| the interpreter let NaN through extremes, the compiled code did not | test_one_nan_decides_every_extreme |
| a clip of NaN gave the lower bound | test_clipping_keeps_nan |
| NaN equalled itself; positions of extremes treated NaN unlike the extremes | test_nan_is_unequal_to_itself, test_one_nan_decides_every_extreme |
| a table of 8-bit floats was wrong for zeros, denormals and NaN | test_every_8_bit_float_has_its_value_in_f16 |
| packing bf16 by a rounding addition destroyed NaN and infinity | test_bf16_keeps_nan_and_infinity |
| exponents of scales were rounded to nearest, not up | test_a_scale_of_a_power_of_two_is_rounded_up; the type itself rounds to nearest: test_the_exponent_type_holds_scales |
| a function of a 16-bit type called itself | test_functions_of_every_16_bit_value_are_right |
| -0 was lost in additions, fusions and ties of extremes | test_zeros_keep_their_signs |
| an atomic maximum of floats took -0 for a tiny number | test_atomic_extremes_of_floats_order_zeros_and_keep_nan, test_atomic_extremes_order_integers_by_sign |
| a fused chain skipped the rounding to bf16 in its middle | test_each_bf16_operation_rounds |
| products of f32 were silently narrower | does not apply: products |
| lanes of an 8-bit fill spread their signs over one another | test_a_fill_of_narrow_integers_keeps_every_lane |
| a sum of i64 was cut to 32 bits between lanes | test_reductions_of_64_bit_integers_keep_all_bits |
| 8-bit floats have no infinity, and fills with it failed in the compiler | test_an_infinity_that_a_type_lacks_is_rejected |
| a maximum of bools had the identity of i64 | test_any_and_all_take_the_place_of_extremes_of_bools |
| a minimum of equal elements gave 0 out of padding | test_padding_never_takes_part_in_a_reduction |
| bit patterns of bf16 were multiplied as numbers | test_sums_of_bf16_products_of_small_integers_are_exact; as a product it does not apply |
| typed literals were neither wrapped nor rounded | test_a_literal_that_does_not_fit_is_rejected, test_a_float_literal_rounds_once |
| padding of a mean held 1/n | test_padding_never_takes_part_in_a_reduction |
| `%` and `//` of floats stopped in an assertion | test_floor_division_of_floats_is_rejected_with_what_to_write |
"""

from pathlib import Path

import numpy as np
import pytest

from tests.cases.runs import Case, codes, run
from tests.compiler.agreement import disagreements

RANDOM = np.random.default_rng(8)
NAN, INF = np.float32(np.nan), np.float32(np.inf)


def bf16(values: np.ndarray) -> np.ndarray:
    """Nearest even, on the bits; of finite values."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(codes_: np.ndarray) -> np.ndarray:
    return (codes_.astype(np.uint32) << 16).view(np.float32)


EXTREMES = """\
def k(x: ak.In[ak.f32,T,H], hi: ak.Out[ak.f32,T], lo: ak.Out[ak.f32,T], at: ak.Out[ak.i64,T], least: ak.Out[ak.i64,T], big: ak.Out[ak.f32,T], m: ak.Out[ak.f32,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        hi[t]=ak.max(v,axis=1)
        lo[t]=ak.min(v,axis=1)
        at[t]=ak.argmax(v,axis=1)
        least[t]=ak.argmin(v,axis=1)
        big[t]=ak.absmax(v,axis=1)
        m[t,:]=ak.minimum(ak.maximum(v,0.0),1.0)
"""


@pytest.mark.parametrize("width", [2, 64, 65, 9000])
def test_one_nan_decides_every_extreme(width: int, simulator_cache: Path):
    x = np.full((4, width), INF, np.float32)
    x[0, 1] = x[1, width - 1] = x[2, 0] = NAN
    x[3] = 2
    found = run(Case(EXTREMES, {"T": 4}, {"H": width}), {"x": x}, simulator_cache)
    assert np.isnan([found["hi"][:3], found["lo"][:3], found["big"][:3]]).all()
    assert (found["hi"][3], found["lo"][3], found["big"][3]) == (2, 2, 2)
    assert found["at"].tolist() == [1, width - 1, 0, 0]
    assert found["least"].tolist() == [0, 0, 1, 0]  # NaN is the largest
    assert (np.isnan(found["m"]) == np.isnan(x)).all()


def test_clipping_keeps_nan(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,N], q: ak.Out[ak.e4m3,N], r: ak.Out[ak.e5m2,N]):
    for n in ak.grid(N):
        v=ak.clip(x[n],-448.0,448.0)
        o[n]=v
        q[n]=v.to(ak.e4m3)
        r[n]=x[n].to(ak.e5m2)
"""
    x = np.array([NAN, INF, -INF, 1, -500, -0.0], np.float32)
    found = run(Case(body, {"N": 6}), {"x": x}, simulator_cache)
    assert np.isnan(found["o"][0])
    assert found["o"][1:].tolist() == [448, -448, 1, -448, 0]
    assert found["q"].tolist() == [0x7F, 0x7E, 0xFE, 0x38, 0xFE, 0x80]
    assert found["r"][0] == 0x7F
    assert found["r"][1:3].tolist() == [0x7B, 0xFB]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "f64"])
def test_nan_is_unequal_to_itself(dtype: str, simulator_cache: Path):
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    outs = "".join(f", {name}_: ak.Out[ak.bool,N]" for name in names)
    signs = zip(names, ("==", "!=", "<", "<=", ">", ">="), strict=True)
    lines = "".join(f"        {name}_[n]=x[n]{sign}x[n]\n" for name, sign in signs)
    body = f"def k(x: ak.In[ak.{dtype},N]{outs}):\n    for n in ak.grid(N):\n{lines}"
    values = np.array([np.nan, 1, np.inf, -0.0], np.float32)
    storage = {"f32": values, "f16": values.astype(np.float16), "f64": values.astype(np.float64)}
    x = storage[dtype] if dtype in storage else values.view(np.uint32).__rshift__(16).astype(np.uint16)
    found = run(Case(body, {"N": 4}), {"x": x}, simulator_cache)
    assert [found[f"{name}_"].tolist() for name in ("eq", "le", "ge")] == [[False, True, True, True]] * 3
    assert found["ne_"].tolist() == [True, False, False, False]
    assert not found["lt_"].any()
    assert not found["gt_"].any()


@pytest.mark.parametrize(("dtype", "mantissa", "bias"), [("e4m3", 3, 7), ("e5m2", 2, 15)])
def test_every_8_bit_float_has_its_value_in_f16(dtype: str, mantissa: int, bias: int, simulator_cache: Path):
    body = f"def k(x: ak.In[ak.{dtype},N], o: ak.Out[ak.f16,N], b: ak.Out[ak.{dtype},N]):\n    for n in ak.grid(N):\n        v=x[n].to(ak.f16)\n        o[n]=v\n        b[n]=v.to(ak.{dtype})\n"
    x = np.arange(256, dtype=np.uint8)
    found = run(Case(body, {"N": 256}), {"x": x}, simulator_cache)
    magnitude = x.astype(int) & 0x7F
    exponent, fraction = magnitude >> mantissa, (magnitude & ((1 << mantissa) - 1)) / 2.0**mantissa
    want = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    want = np.where(x < 128, want, -want)
    nan = magnitude == 0x7F if dtype == "e4m3" else (magnitude > 0x7C)
    infinite = (magnitude == 0x7C) if dtype == "e5m2" else np.zeros(256, bool)
    want = np.where(infinite, np.copysign(np.inf, want), want)
    assert (np.isnan(found["o"]) == nan).all()
    assert (found["o"][~nan].view(np.uint16) == want[~nan].astype(np.float16).view(np.uint16)).all()
    kept = ~nan & ~infinite
    assert (found["b"][kept] == x[kept]).all()


@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", ["e4m3", "e5m2", "f16", "bf16", "f32"])
def test_a_widening_cast_gives_the_one_nan(source: str, target: str, simulator_cache: Path):
    body = f"def k(x: ak.In[ak.{source},N], o: ak.Out[ak.{target},N]):\n    for n in ak.grid(N):\n        o[n]=x[n].to(ak.{target})\n"
    assert disagreements(body, {}, {"N": 300}, ("special", "random"), 1, simulator_cache) == []


def test_bf16_keeps_nan_and_infinity(simulator_cache: Path):
    body = "def k(x: ak.In[ak.f32,N], o: ak.Out[ak.bf16,N]):\n    for n in ak.grid(N):\n        o[n]=x[n].to(ak.bf16)\n"
    bits = [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00000001, 0x80008001]
    found = run(Case(body, {"N": 9}), {"x": np.array(bits, np.uint32).view(np.float32)}, simulator_cache)
    assert found["o"].tolist() == [0x7FFF] * 4 + [0x7F80, 0xFF80, 0x7F80, 0x0000, 0x8001]


def test_a_scale_of_a_power_of_two_is_rounded_up(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.u8,N]):
    for n in ak.grid(N):
        o[n]=((x[n].bitcast(ak.u32)+0x7FFFFF)>>23).to(ak.u8)
"""
    powers = np.float32(2.0) ** np.arange(-20, 20, dtype=np.float32)
    x = np.concatenate([powers, np.nextafter(powers, INF), np.nextafter(powers, np.float32(0))])
    found = run(Case(body, {"N": len(x)}), {"x": x}, simulator_cache)
    want = np.arange(-20, 20) + 127
    assert (found["o"] == np.concatenate([want, want + 1, want])).all()


def test_the_exponent_type_holds_scales(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.e8m0,N], y: ak.In[ak.f32,N], o: ak.Out[ak.f32,N], p: ak.Out[ak.e8m0,N], q: ak.Out[ak.u8,N]):
    for n in ak.grid(N):
        o[n]=x[n].to(ak.f32)
        p[n]=ak.where(y[n]>0,y[n].to(ak.e8m0),4.0)
        q[n]=x[n].bitcast(ak.u8)
"""
    x, y = np.arange(256, dtype=np.uint8), np.linspace(-4, 4, 256, dtype=np.float32)
    found = run(Case(body, {"N": 256}), {"x": x, "y": y}, simulator_cache)
    assert (found["o"][1:255] == 2.0 ** (np.arange(1, 255) - 127)).all()
    assert found["o"][0] == 2.0**-127
    assert np.isnan(found["o"][255])
    exponent = np.round(np.log2(np.maximum(y, 1e-3)) + 0.5 - np.log2(1.5))
    assert (found["p"] == np.where(y > 0, 127 + exponent, 129)).all()
    assert (found["q"] == x).all()


@pytest.mark.parametrize("value", ["0", "0.0", "-1.0", "3", "ak.inf"])
def test_what_is_no_power_of_two_is_no_exponent(value: str):
    body = f"def k(o: ak.Out[ak.e8m0,N]):\n    for n in ak.grid(N):\n        o[n]=ak.full((n,),{value},ak.e8m0)\n"
    assert codes(body) == ["AK501"]


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_functions_of_every_16_bit_value_are_right(dtype: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.{dtype},N], e: ak.Out[ak.{dtype},N], s: ak.Out[ak.{dtype},N], r: ak.Out[ak.{dtype},N], l: ak.Out[ak.{dtype},N]):
    for n in ak.grid(N):
        v=x[n]
        e[n]=ak.exp(v)
        s[n]=ak.sqrt(v)
        r[n]=ak.rsqrt(v)
        l[n]=ak.log(v)
"""
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    given = {"x": x if dtype == "bf16" else x.view(np.float16)}
    found = run(Case(body, {"N": 1 << 16}, count=1), given, simulator_cache)
    with np.errstate(all="ignore"):
        exact = (wide(x) if dtype == "bf16" else x.view(np.float16)).astype(np.float64)
        wanted = {"e": np.exp(exact), "s": np.sqrt(exact), "r": 1 / np.sqrt(exact), "l": np.log(exact)}
        for name, want in wanted.items():
            got = (wide(found[name]) if dtype == "bf16" else found[name]).astype(np.float64)
            top, ulp = (3.3961775e38, 2.0**-8) if dtype == "bf16" else (65519.0, 2.0**-11)
            tiny = 2.0**-134 if dtype == "bf16" else 2.0**-25
            want = np.where(np.abs(want) > top, np.copysign(np.inf, want), want)
            assert (np.isnan(got) == np.isnan(want)).all()
            ok = ~np.isnan(want)
            same = (got == want) | (np.abs(got - want) <= 1.001 * ulp * np.abs(want) + 1.001 * tiny)
            assert same[ok].all(), (name, x[ok][~same[ok]][:5])


def test_zeros_keep_their_signs(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,N], y: ak.In[ak.f32,N], hi: ak.Out[ak.f32,N], lo: ak.Out[ak.f32,N], z: ak.Out[ak.f32,N], m: ak.Out[ak.f32,N], s: ak.Out[ak.f32,N], e: ak.Out[ak.f32,N], i: ak.Out[ak.f32,N], d: ak.Out[ak.f32,N], same: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        a=x[n]
        b=y[n]
        hi[n]=ak.maximum(a,b)
        lo[n]=ak.minimum(a,b)
        z[n]=a+0.0
        m[n]=a-0.0
        s[n]=ak.sqrt(a)
        e[n]=ak.where(a>0,a,ak.expm1(a))
        i[n]=1.0/ak.sqrt(a)
        d[n]=0.0-a
        same[n]=a*1.0
"""
    x, y = np.array([0.0, -0.0, -0.0, 0.0], np.float32), np.array([-0.0, 0.0, -0.0, 0.0], np.float32)
    found = run(Case(body, {"N": 4}), {"x": x, "y": y}, simulator_cache)
    negative = {name: np.signbit(found[name]).tolist() for name in found if name not in ("x", "y")}
    own = [False, True, True, False]
    assert (negative["hi"], negative["lo"]) == ([False, False, True, False], [True, True, True, False])
    assert negative["z"] == [False] * 4
    assert negative["d"] == [False] * 4
    assert [negative[name] for name in ("m", "s", "e", "same")] == [own] * 4
    assert found["i"].tolist() == [INF, -INF, -INF, INF]


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
def test_atomic_sums_of_floats_are_refused(dtype: str):
    body = f"def k(x: ak.InOut[ak.{dtype},N], y: ak.In[ak.{dtype},N]):\n    for n in ak.grid(N):\n        ak.atomic_add(x[n],y[n])\n"
    assert codes(body) == ["AK320"]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_atomic_extremes_of_floats_order_zeros_and_keep_nan(dtype: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.{dtype},N], hi: ak.InOut[ak.{dtype},N], lo: ak.InOut[ak.{dtype},N]):
    for n in ak.grid(N):
        ak.atomic_max(hi[n],x[n])
        ak.atomic_min(lo[n],x[n])
"""
    kind = np.dtype(dtype.replace("f", "float"))
    old = np.array([0.0, -0.0, -0.0, 1e-40, -1.0, -1.0, np.nan, -np.nan, -np.nan, 2.0, -INF], kind)
    x = np.array([-0.0, 0.0, -1e-40, -0.0, -2.0, np.nan, 1.0, -1.0, 1.0, INF, -3.0], kind)
    found = run(Case(body, {"N": len(x)}), {"x": x, "hi": old, "lo": old}, simulator_cache)
    largest = [0.0, 0.0, -0.0, kind.type(1e-40), -1.0, np.nan, np.nan, np.nan, np.nan, INF, -3.0]
    smallest = [-0.0, -0.0, kind.type(-1e-40), -0.0, -2.0, np.nan, np.nan, np.nan, np.nan, 2.0, -INF]
    for got, want in ((found["hi"], np.array(largest, kind)), (found["lo"], np.array(smallest, kind))):
        real = ~np.isnan(want)
        assert got[real].tobytes() == want[real].tobytes()
        bits = got[~real].view(f"u{kind.itemsize}")
        assert set(bits.tolist()) == {(1 << (8 * kind.itemsize - 1)) - 1}


@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "u64"])
def test_atomic_extremes_order_integers_by_sign(dtype: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.{dtype},N], hi: ak.InOut[ak.{dtype},1], lo: ak.InOut[ak.{dtype},1]):
    for n in ak.grid(N):
        ak.atomic_max(hi[ak.zeros((n,),ak.i64)],x[n])
        ak.atomic_min(lo[ak.zeros((n,),ak.i64)],x[n])
"""
    kind = np.dtype(dtype.replace("i", "int").replace("u", "uint"))
    info = np.iinfo(kind)
    x = np.array([0, 1, info.min, info.max, info.max - 1, info.max // 2 + 1], kind)
    given = {"x": x, "hi": np.array([info.min], kind), "lo": np.array([info.max], kind)}
    found = run(Case(body, {"N": len(x)}), given, simulator_cache)
    assert (found["hi"][0], found["lo"][0]) == (info.max, info.min)


def test_each_bf16_operation_rounds(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,N], y: ak.In[ak.bf16,N], o: ak.Out[ak.bf16,N], w: ak.Out[ak.bf16,N]):
    for n in ak.grid(N):
        o[n]=ak.maximum(x[n]*y[n],0)*y[n]
        w[n]=(ak.maximum(x[n].to(ak.f32)*y[n].to(ak.f32),0)*y[n].to(ak.f32)).to(ak.bf16)
"""
    x, y = (bf16(RANDOM.normal(size=4000).astype(np.float32)) for _ in range(2))
    found = run(Case(body, {"N": 4000}), {"x": x, "y": y}, simulator_cache)
    product = wide(x) * wide(y)
    rounded = bf16(np.maximum(wide(bf16(product)), np.float32(0)) * wide(y))
    once = bf16(np.maximum(product, np.float32(0)) * wide(y))
    assert (wide(found["o"]) == wide(rounded)).all()
    assert (wide(found["w"]) == wide(once)).all()
    assert (rounded != once).any()


@pytest.mark.parametrize(("dtype", "value"), [("i8", -2), ("u8", 254), ("i16", -2), ("i32", -2), ("i64", -2)])
def test_a_fill_of_narrow_integers_keeps_every_lane(dtype: str, value: int, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T,H], p: ak.Out[ak.{dtype},T,H], s: ak.Out[ak.{dtype},T]):
    for t in ak.grid(T):
        v=ak.full((t,H),{value},ak.{dtype})
        o[t,:]=v
        p[t,:]=ak.where(x[t,:]>0,v,x[t,:])
        s[t]=ak.sum(v,axis=1)
"""
    kind = np.dtype(dtype.replace("i", "int").replace("u", "uint"))
    x = RANDOM.integers(0, 100, (5, 37)).astype(kind)
    found = run(Case(body, {"T": 5}, {"H": 37}), {"x": x}, simulator_cache)
    assert (found["o"] == value).all()
    assert (found["p"] == np.where(x > 0, kind.type(value), x)).all()
    assert (found["s"] == np.full((5, 37), value, kind).sum(axis=1, dtype=kind)).all()


@pytest.mark.parametrize("width", [3, 33, 1025])
def test_reductions_of_64_bit_integers_keep_all_bits(width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i64,T,H], s: ak.Out[ak.i64,T], hi: ak.Out[ak.i64,T], at: ak.Out[ak.i64,T], c: ak.Out[ak.i64,T,H], q: ak.Out[ak.i64,H]):
    for t in ak.grid(T):
        s[t]=ak.sum(x[t,:],axis=1)
        hi[t]=ak.max(x[t,:],axis=1)
        at[t]=ak.argmin(x[t,:],axis=1)
        c[t,:]=ak.cumsum(x[t,:],axis=1)
    for h in ak.grid(H):
        q[h]=ak.sum(x[:,h],axis=0)
"""
    x = RANDOM.integers(-(2**40), 2**40, (3, width)) + 2**33
    found = run(Case(body, {"T": 3}, {"H": width}), {"x": x}, simulator_cache)
    assert (found["s"] == x.sum(axis=1)).all()
    assert (found["hi"] == x.max(axis=1)).all()
    assert (found["at"] == x.argmin(axis=1)).all()
    assert (found["c"] == x.cumsum(axis=1)).all()
    assert (found["q"] == x.sum(axis=0)).all()


@pytest.mark.parametrize(("dtype", "wanted"), [("e4m3", ["AK501"]), ("i32", ["AK502"]), ("e5m2", []), ("bf16", [])])
def test_an_infinity_that_a_type_lacks_is_rejected(dtype: str, wanted: list[str]):
    body = f"def k(x: ak.In[ak.{dtype},N], o: ak.Out[ak.{dtype},N]):\n    for n in ak.grid(N):\n        o[n]=ak.load(x[n-1],fill=-ak.inf)\n"
    assert codes(body) == wanted


@pytest.mark.parametrize("shape", [(32, 32), (1, 1), (5, 300), (3, 0)])
def test_any_and_all_take_the_place_of_extremes_of_bools(shape: tuple[int, int], simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bool,T,N], o: ak.Out[ak.bool,T], p: ak.Out[ak.bool,T], s: ak.Out[ak.i32,T]):
    for t in ak.grid(T):
        o[t]=ak.{}(x[t,:],axis=1)
        p[t]=ak.all(x[t,:],axis=1)
        s[t]=ak.sum(x[t,:],axis=1)
"""
    assert codes(body.format("max")) == ["AK206"]
    x = RANDOM.random(shape) < 0.5 / max(shape[1], 1)
    found = run(Case(body.format("any"), dict(zip("TN", shape, strict=True))), {"x": x}, simulator_cache)
    assert (found["o"] == x.any(axis=1)).all()
    assert (found["p"] == x.all(axis=1)).all()
    assert (found["s"] == x.sum(axis=1)).all()


@pytest.mark.parametrize("dtype", ["f32", "i32"])
@pytest.mark.parametrize("width", [1, 3, 9, 33, 70])
def test_padding_never_takes_part_in_a_reduction(width: int, dtype: str, simulator_cache: Path):
    mean = "m[t]=ak.mean(x[t,:].to(ak.f32),axis=1)"
    body = f"""\
def k(x: ak.In[ak.{dtype},T,N], lo: ak.Out[ak.{dtype},T], hi: ak.Out[ak.{dtype},T], p: ak.Out[ak.{dtype},T], m: ak.Out[ak.f32,T], b: ak.Out[ak.{dtype},T,ak.cdiv(N,64)]):
    for t in ak.grid(T):
        v=x[t,:]
        lo[t]=ak.min(v,axis=1)
        hi[t]=ak.max(-v,axis=1)
        p[t]=ak.prod(v,axis=1)
        {mean}
    for t, n in ak.grid(T,N,block=(None,64)):
        b[t,n.ordinal]=ak.min(x[t,n],axis=1)
"""
    x = np.ones((3, width), np.float32 if dtype == "f32" else np.int32)
    found = run(Case(body, {"T": 3, "N": width}), {"x": x}, simulator_cache)
    assert [np.unique(found[name]).tolist() for name in ("lo", "p", "m", "b")] == [[1]] * 4
    assert np.unique(found["hi"]).tolist() == [-1]


def test_sums_of_bf16_products_of_small_integers_are_exact(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,T,H], y: ak.In[ak.bf16,H], o: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        o[t]=ak.sum((x[t,:]*y[:]).to(ak.f32),axis=1)
"""
    x, y = RANDOM.integers(-9, 9, (5, 16)), RANDOM.integers(-9, 9, 16)
    given = {"x": bf16(x.astype(np.float32)), "y": bf16(y.astype(np.float32))}
    assert (run(Case(body, {"T": 5}, {"H": 16}), given, simulator_cache)["o"] == (x * y).sum(axis=1)).all()


LITERALS = [("-3", "u32"), ("300", "i8"), ("256", "u8"), ("70000.0", "f16"), ("2049", "f16"), ("449", "e4m3")]


@pytest.mark.parametrize(("literal", "dtype"), LITERALS)
def test_a_literal_that_does_not_fit_is_rejected(literal: str, dtype: str):
    body = (
        f"def k(o: ak.Out[ak.{dtype},N]):\n    for n in ak.grid(N):\n        o[n]=ak.full((n,),{literal},ak.{dtype})\n"
    )
    assert codes(body) == ["AK501"]


def test_a_float_literal_rounds_once(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f16,N], o: ak.Out[ak.f16,N], p: ak.Out[ak.bool,N], b: ak.Out[ak.bf16,N], q: ak.Out[ak.e4m3,N], d: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        o[n]=ak.full((n,),0.2,ak.f16)
        p[n]=x[n]==0.2
        b[n]=ak.full((n,),1.00390625001,ak.bf16)
        q[n]=ak.full((n,),0.2,ak.e4m3)
        d[n]=ak.full((n,),1e-45,ak.f32)
"""
    found = run(Case(body, {"N": 3}), {"x": np.full(3, 0.2, np.float16)}, simulator_cache)
    assert (found["o"] == np.float16(0.2)).all()
    assert found["p"].all()
    assert (found["b"] == 0x3F81).all()
    assert (found["q"] == 0x25).all()
    assert (found["d"].view(np.uint32) == 1).all()


@pytest.mark.parametrize("operator", ["%", "//"])
def test_floor_division_of_floats_is_rejected_with_what_to_write(operator: str, simulator_cache: Path):
    body = "def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,N]):\n    for n in ak.grid(N):\n        o[n]={}\n"
    assert codes(body.format(f"x[n]{operator}2.0")) == ["AK206"]
    written = {"%": "x[n]-ak.floor(x[n]/2.0)*2.0", "//": "ak.floor(x[n]/2.0)"}[operator]
    x = np.array([5.5, -5.5, 4, -0.5, 0], np.float32)
    want = x % 2 if operator == "%" else x // 2
    assert (run(Case(body.format(written), {"N": 5}), {"x": x}, simulator_cache)["o"] == want).all()


@pytest.mark.parametrize("divisor", [0, 3, -3])
def test_a_division_in_a_branch_runs_only_there(divisor: int, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.i32,N], o: ak.Out[ak.i32,N], d: ak.i32 = {divisor}):
    for n in ak.grid(N):
        a=x[n]
        if d!=0:
            a=x[n]//d
        o[n]=a
"""
    x = RANDOM.integers(-99, 99, 37).astype(np.int32)
    found = run(Case(body, {"N": 37}), {"x": x}, simulator_cache)
    assert (found["o"] == (x // divisor if divisor else x)).all()
