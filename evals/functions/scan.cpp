// Scan the f32 functions over all 2^32 inputs against the host's f64 functions.
// Built by scan.py, which puts the simulator's arithmetic and the prelude's text in front of it.
// Usage: scan NAME. Prints lines of JSON: one of totals, then one for every input whose f64 value is too near a middle
// of two f32 values to be trusted; scan.py judges those with many digits.

extern "C" {
int printf(const char*, ...);
int strcmp(const char*, const char*);
double exp(double), exp2(double), expm1(double), log(double), log2(double), log1p(double), tanh(double), erf(double);
double erfc(double), sin(double), cos(double);
}

// Largest distance of a trusted f64 value from what it stands for, relative: 32 units of the last place.
static const double DOUBT = 0x1p-48;
static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1, SQRT_2_OVER_PI = 0x1.9884533d43651p-1;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double softplus(double x) { return x == -__builtin_inf() ? 0 : (x > 0 ? x : 0) + log1p(exp(-__builtin_fabs(x))); }
static double gelu(double x) { return 0.5 * x * erfc(-x * SQRT_HALF); }
static double gelu_tanh(double x) { return x / (1 + exp(-2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))); }

static unsigned magnitude(unsigned bits) { return bits & 0x7fffffffu; }

// Distance of two f32 values next to v; v is finite.
static double ulp(double v) {
  float near = (float)__builtin_fabs(v);
  unsigned bits = __float_as_uint(near);
  if (near > __builtin_fabs(v) && bits > 0) --bits;  // the value's own binade
  int e = (int)(bits >> 23);
  return __builtin_ldexp(1.0, (e > 1 ? (e < 254 ? e : 254) : 1) - 150);
}

template <class Function, class Judge>
static int scan(Function function, Judge judge, float low, float high) {
  unsigned long long judged = 0, misrounded = 0, doubtful = 0, wrong_special = 0;
  double worst = 0, worst_of_input = 0;
  unsigned at = 0, at_of_input = 0, x = 0;
  do {
    float in = __uint_as_float(x);
    float out = function(in);
    unsigned y = __float_as_uint(out);
    if (in != in) {
      wrong_special += y != 0x7fffffffu;
      continue;
    }
    if (!(in >= low && in <= high)) continue;
    ++judged;
    double want = judge((double)in);
    if (want != want) {
      wrong_special += y != 0x7fffffffu;
      continue;
    }
    float rounded = (float)want;
    if ((float)(want * (1 - DOUBT)) != (float)(want * (1 + DOUBT))) {
      if (doubtful++ < 100000) printf("{\"x\": %u, \"y\": %u}\n", x, y);
    } else if (y != __float_as_uint(rounded)) {
      ++misrounded;
    }
    if (y == __float_as_uint(rounded)) continue;
    if (magnitude(y) >= 0x7f800000u && magnitude(y) != 0x7f800000u) {
      ++wrong_special;
      continue;
    }
    double size = __builtin_fabs((magnitude(y) == 0x7f800000u ? __builtin_copysign(0x1p128, out) : (double)out) - want);
    if (size / ulp(want) > worst) worst = size / ulp(want), at = x;
    if (size / ulp((double)in) > worst_of_input) worst_of_input = size / ulp((double)in), at_of_input = x;
  } while (++x != 0u);
  printf("{\"inputs\": 4294967296, \"judged\": %llu, \"wrong_special\": %llu, \"misrounded\": %llu, \"doubtful\": %llu, "
         "\"max_ulp\": %.4f, \"max_ulp_at\": %u, \"max_ulp_of_input\": %.4f, \"max_ulp_of_input_at\": %u}\n",
         judged, wrong_special, misrounded, doubtful, worst < 0.5 ? 0.5 : worst, at, worst_of_input, at_of_input);
  return 0;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const float inf = __builtin_inff();
#define AK_SCAN(NAME, JUDGE, LOW) \
  if (!strcmp(name, #NAME)) return scan([](float x) { return ak_##NAME##_f32(x); }, [](double x) { return JUDGE(x); }, LOW, inf)
  AK_SCAN(exp, exp, -inf);
  AK_SCAN(exp2, exp2, -inf);
  AK_SCAN(expm1, expm1, -inf);
  AK_SCAN(log, log, -inf);
  AK_SCAN(log2, log2, -inf);
  AK_SCAN(log1p, log1p, -inf);
  AK_SCAN(tanh, tanh, -inf);
  AK_SCAN(erf, erf, -inf);
  AK_SCAN(sigmoid, sigmoid, -87.0f);
  AK_SCAN(silu, silu, -87.0f);
  AK_SCAN(softplus, softplus, -inf);
  AK_SCAN(gelu, gelu, -1e30f);
  AK_SCAN(gelu_tanh, gelu_tanh, -1e12f);
  return 2;
}
