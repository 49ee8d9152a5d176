// Scan functions of the prelude over all 2^32 f32 inputs against judges in exact integer arithmetic.
// Built by scan.py, which puts the simulator's arithmetic and the prelude's text in front of it.
// Usage: scan NAME. Prints one line of JSON: inputs, mismatches, the first mismatching input.

typedef unsigned __int128 wide;

extern "C" int printf(const char*, ...);
extern "C" int strcmp(const char*, const char*);


// The value of a finite f32 is significand * 2^exponent.
struct Parts { unsigned long long significand; int exponent; };
static Parts parts(unsigned bits) {
  int e = (int)(bits >> 23 & 255u);
  unsigned fraction = bits & 0x7fffffu;
  if (e == 0) return {fraction, -149};
  return {fraction | 0x800000u, e - 150};
}

// sqrt: y is right iff (y - ulp/2)^2 < x < (y + ulp/2)^2; ties cannot be (a midpoint's square has 50 bits).
static bool sqrt_is_right(unsigned x, unsigned y) {
  if ((x & 0x7fffffffu) > 0x7f800000u) return y == 0x7fffffffu;
  if (x << 1 == 0u) return y == x;
  if (x >> 31) return y == 0x7fffffffu;
  if (x == 0x7f800000u) return y == x;
  if (y < 0x00800000u || y >= 0x7f800000u) return false;  // no root of a finite value is subnormal
  Parts a = parts(x), r = parts(y);
  // (4m - below)^2 * 2^(2e - 4) < X * 2^ex < (4m + 2)^2 * 2^(2e - 4); a power of two has a nearer lower neighbour
  unsigned long long below = 4 * r.significand - (r.significand == 0x800000u ? 1 : 2);
  unsigned long long above = 4 * r.significand + 2;
  int shift = a.exponent - (2 * r.exponent - 4);
  if (shift < 0 || shift > 100) return false;
  wide scaled = (wide)a.significand << shift;
  return (wide)below * below < scaled && scaled < (wide)above * above;
}

// rsqrt: y is right iff x * (y - ulp/2)^2 < 1 < x * (y + ulp/2)^2; ties cannot be but for a power of two.
static bool rsqrt_is_right(unsigned x, unsigned y) {
  if ((x & 0x7fffffffu) > 0x7f800000u) return y == 0x7fffffffu;
  if (x << 1 == 0u) return y == (x | 0x7f800000u);
  if (x >> 31) return y == 0x7fffffffu;
  if (x == 0x7f800000u) return y == 0u;
  if (y < 0x00800000u || y >= 0x7f800000u) return false;
  Parts a = parts(x), r = parts(y);
  unsigned long long below = 4 * r.significand - (r.significand == 0x800000u ? 1 : 2);
  unsigned long long above = 4 * r.significand + 2;
  int shift = 4 - a.exponent - 2 * r.exponent;
  if (shift < 0 || shift > 126) return false;
  wide one = (wide)1 << shift;
  return a.significand * (wide)below * below < one && one < a.significand * (wide)above * above;
}

// Narrow formats: the judge finds the code by walking the table of midpoints between neighbouring codes.
struct Format { int mantissa_bits, bias, sign_shift; unsigned max_code, overflow_code, nan_code; };
static const Format F16 = {10, 15, 15, 0x7bff, 0x7c00, 0x7fff};
static const Format BF16 = {7, 127, 15, 0x7f7f, 0x7f80, 0x7fff};
static const Format E4M3 = {3, 7, 7, 0x7e, 0x7e, 0x7f};
static const Format E5M2 = {2, 15, 7, 0x7b, 0x7b, 0x7f};

// The value of a code; codes one past the largest count as if the format went on.
static double code_value(const Format& f, unsigned code) {
  unsigned e = code >> f.mantissa_bits, m = code & ((1u << f.mantissa_bits) - 1);
  int exponent = (e ? (int)e : 1) - f.bias - f.mantissa_bits;
  return __builtin_ldexp((double)(m + (e ? 1u << f.mantissa_bits : 0u)), exponent);  // exact
}

// Codes in ascending order make every cast a monotone step function: the judge steps along with the input.
static unsigned long long scan_narrow(const Format& f, unsigned (*cast)(float), unsigned* first) {
  unsigned long long wrong = 0;
  unsigned code = 0;
  for (unsigned x = 0; x < 0x80000000u; ++x) {
    unsigned want;
    if (x > 0x7f800000u) {
      want = f.nan_code;
    } else if (x == 0x7f800000u) {
      want = f.overflow_code;
    } else {
      double value = (double)__uint_as_float(x);
      while (code < f.max_code + 1) {
        // exact in f64: both values have few bits; past the largest code the next value counts as if it existed
        double middle = (code_value(f, code) + code_value(f, code + 1)) * 0.5;
        if (value < middle || (value == middle && code % 2 == 0)) break;
        ++code;
      }
      want = code > f.max_code ? f.overflow_code : code;
    }
    unsigned sign = x > 0x7f800000u ? 0u : 1u << f.sign_shift;
    bool bad = cast(__uint_as_float(x)) != want || cast(__uint_as_float(x | 0x80000000u)) != (want | sign);
    if (bad && wrong++ == 0) *first = x;
  }
  return wrong;
}

// floor, ceil, trunc and round against f64 arithmetic on 64-bit integers.
static double whole(int kind, double v) {
  if (!(__builtin_fabs(v) < 8388608.0)) return v;
  double down = (double)(long long)v;
  if (kind == 0) return __builtin_copysign(down > v ? down - 1 : down, v);
  if (kind == 1) return __builtin_copysign(down < v ? down + 1 : down, v);
  if (kind == 2) return __builtin_copysign(down, v);
  double size = __builtin_fabs(v), base = (double)(long long)size, rest = size - base;
  bool up = rest > 0.5 || (rest == 0.5 && ((long long)base & 1));
  return __builtin_copysign(up ? base + 1 : base, v);
}
template <int kind> static bool whole_is_right(unsigned x, unsigned y) {
  if ((x & 0x7fffffffu) > 0x7f800000u) return y == 0x7fffffffu;
  return y == __float_as_uint((float)whole(kind, (double)__uint_as_float(x)));
}

template <class Function, class Judge>
static unsigned long long scan_unary(Function function, Judge right, unsigned* first) {
  unsigned long long wrong = 0;
  unsigned x = 0;
  do {
    if (!right(x, __float_as_uint(function(__uint_as_float(x)))) && wrong++ == 0) *first = x;
  } while (++x != 0u);
  return wrong;
}

// The interpreter's rsqrt: two IEEE operations in f64, one rounding to f32.
static float rsqrt_by_f64(float x) {
  float y = (float)(1.0 / __builtin_sqrt((double)x));
  return y == y ? y : __uint_as_float(0x7fffffffu);
}

// Controls: near misses that the judges must find.
static float rsqrt_two_roundings(float x) { return __fdiv_rn(1.0f, __fsqrt_rn(x)); }
static unsigned e4m3_half_up(float x) {
  unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fu;
  return ak_soft_cvt_e4m3_f32(__uint_as_float(bits | 1u));  // ties lose their evenness
}

static unsigned bf16_code(float x) { return ak_cvt_bf16_f32(x); }
static unsigned f16_code(float x) { return ak_cvt_f16_f32(x); }
static unsigned e4m3_code(float x) { return ak_soft_cvt_e4m3_f32(x); }
static unsigned e5m2_code(float x) { return ak_soft_cvt_e5m2_f32(x); }
static unsigned e4m3_pair_code(float x) { return ak_cvt_e4m3x2_f32(0.0f, x); }

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  unsigned long long wrong = 0;
  unsigned first = 0;
  if (!strcmp(name, "rsqrt")) wrong = scan_unary(ak_rsqrt_f32, rsqrt_is_right, &first);
  else if (!strcmp(name, "rsqrt_by_f64")) wrong = scan_unary(rsqrt_by_f64, rsqrt_is_right, &first);
  else if (!strcmp(name, "sqrt")) wrong = scan_unary(__fsqrt_rn, sqrt_is_right, &first);
  else if (!strcmp(name, "floor")) wrong = scan_unary(ak_floor_f32, whole_is_right<0>, &first);
  else if (!strcmp(name, "ceil")) wrong = scan_unary(ak_ceil_f32, whole_is_right<1>, &first);
  else if (!strcmp(name, "trunc")) wrong = scan_unary(ak_trunc_f32, whole_is_right<2>, &first);
  else if (!strcmp(name, "round")) wrong = scan_unary(ak_round_f32, whole_is_right<3>, &first);
  else if (!strcmp(name, "cast_bf16")) wrong = scan_narrow(BF16, bf16_code, &first);
  else if (!strcmp(name, "cast_f16")) wrong = scan_narrow(F16, f16_code, &first);
  else if (!strcmp(name, "cast_e4m3_soft")) wrong = scan_narrow(E4M3, e4m3_code, &first);
  else if (!strcmp(name, "cast_e5m2_soft")) wrong = scan_narrow(E5M2, e5m2_code, &first);
  else if (!strcmp(name, "cast_e4m3")) wrong = scan_narrow(E4M3, e4m3_pair_code, &first);
  else if (!strcmp(name, "control_rsqrt")) wrong = scan_unary(rsqrt_two_roundings, rsqrt_is_right, &first);
  else if (!strcmp(name, "control_cast_e4m3")) wrong = scan_narrow(E4M3, e4m3_half_up, &first);
  else return 2;
  printf("{\"inputs\": 4294967296, \"mismatches\": %llu, \"first\": \"0x%08x\"}\n", wrong, first);
  return wrong != 0;
}
