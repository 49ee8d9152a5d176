// Scan ak_div_row_f32 against the host's IEEE division.
// Built by scan_division.py, which puts the simulator's arithmetic and the prelude's text in front of it.
// Prints one line of JSON for each set: name, divisors, quotients, mismatches, first mismatching pair.
// `unguarded` is the control: the same formula without its guard must be wrong somewhere.

extern "C" int printf(const char*, ...);

static float unguarded(float a, float b, float y) {
  float q0 = __fmul_rn(a, y);
  return __fmaf_rn(__fmaf_rn(b, q0, -a), -y, q0);
}

struct Tally { unsigned long long divisors, quotients, wrong; unsigned a, b; };

template <class Function>
static void check(Tally& tally, Function divide, unsigned a, unsigned b, float y) {
  float dividend = __uint_as_float(a), divisor = __uint_as_float(b);
  ++tally.quotients;
  if (__float_as_uint(divide(dividend, divisor, y)) == __float_as_uint(__fdiv_rn(dividend, divisor))) return;
  if (tally.wrong++ == 0) tally.a = a, tally.b = b;
}

static void report(const char* name, const Tally& t) {
  printf("{\"set\": \"%s\", \"divisors\": %llu, \"quotients\": %llu, \"mismatches\": %llu, "
         "\"first\": [\"0x%08x\", \"0x%08x\"]}\n", name, t.divisors, t.quotients, t.wrong, t.a, t.b);
}

// Bits, in this order: 3, 7168, 576, 0.1, 1/3, -7168, 2e-38, 1e30, the mantissas nearest to 1 and 2,
// the ends of the range of the fast path and their neighbours outside, subnormals, zeros, infinities, NaN.
static const unsigned DIVISORS[] = {
    0x40400000u, 0x45e00000u, 0x44100000u, 0x3dcccccdu, 0x3eaaaaabu, 0xc5e00000u, 0x00d9c7dcu, 0x7149f2cau,
    0x3f800001u, 0x3fffffffu, 0x00800000u, 0x7e800000u, 0x7e800001u, 0x7f7fffffu, 0x007fffffu, 0x00000001u,
    0x80000003u, 0x00000000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00001u};

template <class Function> static Tally every_third_dividend(Function divide, unsigned stride) {
  Tally tally = {};
  for (unsigned b : DIVISORS) {
    float y = ak_div_row_rcp(__uint_as_float(b));
    ++tally.divisors;
    for (unsigned long long a = 0; a < 0x100000000ull; a += stride) check(tally, divide, (unsigned)a, b, y);
  }
  return tally;
}

// Every dividend mantissa against many divisor mantissas: the lowest and highest 128, then a Weyl sequence.
static Tally every_mantissa(unsigned random_divisors) {
  Tally tally = {};
  for (unsigned i = 0; i < 256 + random_divisors; ++i) {
    unsigned low = i < 128 ? i : i < 256 ? 0x7fffffu - (i - 128) : (i * 0x9e3779b1u) >> 9;
    unsigned b = 0x3f800000u | low;
    float y = ak_div_row_rcp(__uint_as_float(b));
    ++tally.divisors;
    for (unsigned a = 0x3f800000u; a < 0x40000000u; ++a) check(tally, ak_div_row_f32, a, b, y);
  }
  return tally;
}

int main() {
  Tally third = every_third_dividend(ak_div_row_f32, 3);
  report("every third dividend", third);
  Tally mantissas = every_mantissa(256);
  report("every mantissa", mantissas);
  report("control: without the guard", every_third_dividend(unguarded, 4099));
  return third.wrong + mantissas.wrong != 0;
}
