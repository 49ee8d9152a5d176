// Scan the f32 functions over all 2^32 inputs.
// Built by scan.py, which puts the simulator's arithmetic and the prelude's text in front of it, and the same text once
// more in namespace `plain` over plain operators, which the host compiler turns into vector code.
//
// The host's vector functions (f64, within 4 units of the last place) pick the inputs whose result is not the rounding
// of their value, or whose value is near a middle of two f32 values. Those few are judged by the host's scalar f64
// function; those still near a middle are printed, and judged by scan.py with many digits. Every 61st input also shows
// that the plain text has the bits of the simulator's, and NaN and edges go through the simulator's alone.
// Usage: scan NAME. Prints lines of JSON: the doubtful inputs, then the totals.

typedef double Four __attribute__((vector_size(32)));
typedef float FourFloats __attribute__((vector_size(16)));

extern "C" {
int printf(const char*, ...);
int strcmp(const char*, const char*);
double exp(double), exp2(double), expm1(double), log(double), log2(double), log1p(double), tanh(double), erf(double);
double erfc(double), sin(double), cos(double);
Four _ZGVdN4v_exp(Four), _ZGVdN4v_exp2(Four), _ZGVdN4v_expm1(Four), _ZGVdN4v_log(Four), _ZGVdN4v_log2(Four);
Four _ZGVdN4v_log1p(Four), _ZGVdN4v_tanh(Four), _ZGVdN4v_erf(Four), _ZGVdN4v_erfc(Four), _ZGVdN4v_sin(Four);
Four _ZGVdN4v_cos(Four);
}

// Largest distance of a trusted f64 value from what it stands for, relative: 32 units of the last place.
static const double DOUBT = 0x1p-48;
static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1, SQRT_2_OVER_PI = 0x1.9884533d43651p-1;
static const int BLOCK = 4096;

// The value of one function: by vectors, and one at a time.
struct Exp { static Four four(Four x) { return _ZGVdN4v_exp(x); } static double one(double x) { return exp(x); } };
struct Exp2 { static Four four(Four x) { return _ZGVdN4v_exp2(x); } static double one(double x) { return exp2(x); } };
struct Expm1 { static Four four(Four x) { return _ZGVdN4v_expm1(x); } static double one(double x) { return expm1(x); } };
struct Log { static Four four(Four x) { return _ZGVdN4v_log(x); } static double one(double x) { return log(x); } };
struct Log2 { static Four four(Four x) { return _ZGVdN4v_log2(x); } static double one(double x) { return log2(x); } };
struct Log1p { static Four four(Four x) { return _ZGVdN4v_log1p(x); } static double one(double x) { return log1p(x); } };
struct Tanh { static Four four(Four x) { return _ZGVdN4v_tanh(x); } static double one(double x) { return tanh(x); } };
struct Erf { static Four four(Four x) { return _ZGVdN4v_erf(x); } static double one(double x) { return erf(x); } };
struct Sin { static Four four(Four x) { return _ZGVdN4v_sin(x); } static double one(double x) { return sin(x); } };
struct Cos { static Four four(Four x) { return _ZGVdN4v_cos(x); } static double one(double x) { return cos(x); } };
struct Sigmoid {
  static Four four(Four x) { return 1 / (1 + _ZGVdN4v_exp(-x)); }
  static double one(double x) { return 1 / (1 + exp(-x)); }
};
struct Silu {
  static Four four(Four x) { return x / (1 + _ZGVdN4v_exp(-x)); }
  static double one(double x) { return x / (1 + exp(-x)); }
};
struct Softplus {
  static Four four(Four x) {
    Four size = x < 0 ? -x : x, above = x < 0 ? x * 0 : x;
    return above + _ZGVdN4v_log1p(_ZGVdN4v_exp(-size));
  }
  static double one(double x) {
    if (x - x != 0) return x < 0 ? 0 : x;
    return (x < 0 ? 0 : x) + log1p(exp(x < 0 ? x : -x));
  }
};
struct Gelu {
  static Four four(Four x) { return 0.5 * x * _ZGVdN4v_erfc(-x * SQRT_HALF); }
  static double one(double x) { return 0.5 * x * erfc(-x * SQRT_HALF); }
};
struct GeluTanh {
  static Four four(Four x) { return x / (1 + _ZGVdN4v_exp(-2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))); }
  static double one(double x) { return x / (1 + exp(-2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))); }
};

static bool is_nan(unsigned bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Distance between neighbouring f32 values in the binade of v; v is finite.
static double ulp(double v) {
  int e = (int)(__double_as_longlong(v) >> 52 & 2047) - 1023;
  return __builtin_ldexp(1.0, (e < -126 ? -126 : e > 127 ? 127 : e) - 23);
}

struct Totals {
  unsigned long long judged = 0, misrounded = 0, doubtful = 0, wrong_special = 0, unlike_simulator = 0, unlike_mirror = 0;
  double worst = 0.5, worst_of_input = 0;
  unsigned at = 0, at_of_input = 0;
};

// One input that the vectors picked, or an edge; y is the function's result.
template <class Value>
static void judge(unsigned x, unsigned y, Totals* t) {
  double in = (double)__uint_as_float(x), out = (double)__uint_as_float(y), want = Value::one(in);
  if (want != want || is_nan(y)) {
    t->wrong_special += y != 0x7fffffffu || want == want;
    return;
  }
  unsigned rounded = __float_as_uint((float)want);
  if ((float)(want * (1 - DOUBT)) != (float)(want * (1 + DOUBT))) {
    ++t->doubtful;
    printf("{\"x\": %u, \"y\": %u}\n", x, y);
  } else if (y != rounded) {
    ++t->misrounded;
  }
  if (y == rounded) return;
  if (want - want != 0) {
    ++t->wrong_special;
    return;
  }
  if (out - out != 0) out = __builtin_copysign(0x1p128, out);
  double error = __builtin_fabs(out - want);
  if (error / ulp(want) > t->worst) t->worst = error / ulp(want), t->at = x;
  if (error / ulp(in) > t->worst_of_input) t->worst_of_input = error / ulp(in), t->at_of_input = x;
}

// mirror: of even and odd functions the bits that differ between f(x) and f(-x); negative inputs are held to that.
static const unsigned NO_MIRROR = 1;
template <class Value, class Plain, class Simulated>
static int scan(Plain plain, Simulated simulated, float low, unsigned mirror = NO_MIRROR) {
  static float in[BLOCK], out[BLOCK];
  static unsigned char picked[BLOCK];
  Totals t;
  for (unsigned long long start = 0; start < 1ull << 32; start += BLOCK) {
    if (is_nan((unsigned)start + BLOCK - 1)) {  // NaN, or infinity and NaN behind it
      for (unsigned k = 0; k < BLOCK; ++k) {
        unsigned x = (unsigned)start + k, y = __float_as_uint(simulated(__uint_as_float(x)));
        if (is_nan(x)) t.wrong_special += y != 0x7fffffffu;
        else if (__uint_as_float(x) >= low) judge<Value>(x, y, &t), ++t.judged;
      }
      continue;
    }
    if (!(__uint_as_float((unsigned)start) >= low)) continue;  // a block is judged to its end
    for (int k = 0; k < BLOCK; ++k) in[k] = __uint_as_float((unsigned)start + (unsigned)k);
    for (int k = 0; k < BLOCK; ++k) out[k] = plain(in[k]);
    if (mirror != NO_MIRROR && start >> 31) {
      for (int k = 0; k < BLOCK; ++k)
        t.unlike_mirror += (__float_as_uint(plain(-in[k])) ^ mirror) != __float_as_uint(out[k]);
      continue;
    }
    for (int k = 0; k < BLOCK; k += 4) {
      Four want = Value::four(__builtin_convertvector(*(FourFloats*)(in + k), Four));
      FourFloats below = __builtin_convertvector(want * (1 - DOUBT), FourFloats);
      FourFloats above = __builtin_convertvector(want * (1 + DOUBT), FourFloats);
      FourFloats got = *(FourFloats*)(out + k);
      auto right = (below == got) & (above == got);
      for (int j = 0; j < 4; ++j) picked[k + j] = right[j] == 0;
    }
    for (int k = 0; k < BLOCK; ++k)
      if (picked[k]) judge<Value>((unsigned)start + (unsigned)k, __float_as_uint(out[k]), &t);
    for (unsigned k = (unsigned)(start / BLOCK % 61); k < BLOCK; k += 61)
      t.unlike_simulator += __float_as_uint(simulated(in[k])) != __float_as_uint(out[k]) && !is_nan(__float_as_uint(out[k]));
    t.judged += BLOCK;
  }
  printf("{\"inputs\": 4294967296, \"judged\": %llu, \"misrounded\": %llu, \"doubtful\": %llu, \"wrong_special\": %llu, "
         "\"unlike_simulator\": %llu, \"unlike_mirror\": %llu, \"max_ulp\": %.4f, \"max_ulp_at\": %u, \"max_ulp_of_input\": %.4f, "
         "\"max_ulp_of_input_at\": %u}\n",
         t.judged, t.misrounded, t.doubtful, t.wrong_special, t.unlike_simulator, t.unlike_mirror, t.worst, t.at, t.worst_of_input,
         t.at_of_input);
  return 0;
}

#define AK_SCAN(NAME, VALUE, ...)                                                       \
  if (!strcmp(name, #NAME))                                                                  \
    return scan<VALUE>([](float x) { return plain::ak_##NAME##_f32(x); }, [](float x) { return ak_##NAME##_f32(x); }, __VA_ARGS__)

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const float all = -__builtin_inff();
  AK_SCAN(exp, Exp, all);
  AK_SCAN(exp2, Exp2, all);
  AK_SCAN(expm1, Expm1, all);
  AK_SCAN(log, Log, all);
  AK_SCAN(log2, Log2, all);
  AK_SCAN(log1p, Log1p, all);
  AK_SCAN(tanh, Tanh, all);
  AK_SCAN(erf, Erf, all);
  AK_SCAN(sin, Sin, all, 0x80000000u);
  AK_SCAN(cos, Cos, all, 0u);
  AK_SCAN(sigmoid, Sigmoid, -87.0f);
  AK_SCAN(silu, Silu, -87.0f);
  AK_SCAN(softplus, Softplus, all);
  AK_SCAN(gelu, Gelu, -1e30f);
  AK_SCAN(gelu_tanh, GeluTanh, -1e12f);
  return 2;
}
