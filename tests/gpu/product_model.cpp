// The probes' model of one step of a product, over whole matrices: rows of a and columns of b of 32 bytes each.
#include <vector>

#include "../../evals/probes/product_model.h"

// Operand types may differ (8-bit floats): both are brought to the wider fraction.
static Term term_of(const uint8_t* row, int format, int k, int mantissa) {
  Term t = decode_operand(load_code(row, format, k), format);
  t.significand <<= mantissa - FORMATS[format].mantissa;
  return t;
}

static std::vector<Term> terms_of(const uint8_t* rows, int n_rows, int format, int mantissa) {
  std::vector<Term> found;
  for (int i = 0; i < n_rows; ++i)
    for (int k = 0; k < k_of(format); ++k) found.push_back(term_of(rows + 32 * i, format, k, mantissa));
  return found;
}

static Term widened(const uint8_t* row, int format, int k) {
  const FormatFacts& f = FORMATS[format];
  return decode(f16_from_f32(f32_from_small(row[k], f.exponent_bits, f.mantissa, f.has_inf)), 5, 10, true);
}

// mma.sync on 8-bit floats, compute capability 9.0: two f16 steps from +0, then one addition of the accumulator.
static uint32_t widened_step(const uint8_t* a, int a_format, const uint8_t* b, int b_format, uint32_t c) {
  uint32_t d = 0;
  for (int half = 0; half < 2; ++half) {
    Term ta[16], tb[16];
    int n = 0;
    for (int k = 0; k < 32; ++k)
      if (k / 2 % 2 == half) ta[n] = widened(a, a_format, k), tb[n] = widened(b, b_format, k), ++n;
    d = model_group(ta, tb, 16, 10, true, d, ModelOptions{25, 23, 16, false});
  }
  volatile float x, y;
  memcpy((void*)&x, &d, 4), memcpy((void*)&y, &c, 4);
  float sum = x + y;
  uint32_t bits;
  memcpy(&bits, &sum, 4);
  return is_nan32(bits) ? 0x7fffffffu : bits;
}

extern "C" int n_categories() { return N_CATEGORIES; }
extern "C" const char* name_of_category(int category) { return category_name(category); }

extern "C" void make_operands(int format, int category, int index, uint8_t* a, uint8_t* b, uint32_t* c) {
  Tile tile = make_tile(format, category, index);
  memcpy(a, tile.a, sizeof tile.a), memcpy(b, tile.b, sizeof tile.b), memcpy(c, tile.c, sizeof tile.c);
}

extern "C" void step_of_warp_on_small_floats(int a_format, int b_format, int m, int n, const uint8_t* a, const uint8_t* b,
                                             const uint32_t* c, uint32_t* d) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) d[i * n + j] = widened_step(a + 32 * i, a_format, b + 32 * j, b_format, c[i * n + j]);
}

extern "C" void step(int a_format, int b_format, int m, int n, int has_c, const uint8_t* a, const uint8_t* b,
                     const uint32_t* c, uint32_t* d) {
  bool is_small = FORMATS[a_format].bytes == 1;
  int k = k_of(a_format), bits = is_small ? 13 : 25;
  int mantissa = FORMATS[a_format].mantissa > FORMATS[b_format].mantissa ? FORMATS[a_format].mantissa : FORMATS[b_format].mantissa;
  ModelOptions options{bits, is_small ? 13 : 23, k, false};
  std::vector<Term> ta = terms_of(a, m, a_format, mantissa), tb = terms_of(b, n, b_format, mantissa);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      d[i * n + j] = model_group(&ta[i * k], &tb[j * k], k, mantissa, has_c, c[i * n + j], options);
}
