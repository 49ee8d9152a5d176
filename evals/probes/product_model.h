// One step of a tensor-core product: operand formats, input generators and a host model.
// A step is D[64][8] = A[64][K] x B[8][K]^T (+ C[64][8]) with K * element size = 32 bytes.
#pragma once
#include <cstdint>
#include <cstring>

#include "cast_models.h"

enum Format { BF16, F16, TF32, E4M3, E5M2, S8, N_FORMATS };

struct FormatFacts {
  const char* name;
  int bytes, exponent_bits, mantissa;  // exponent_bits 0: integer
  bool has_inf;
};
const FormatFacts FORMATS[N_FORMATS] = {{"bf16", 2, 8, 7, true}, {"f16", 2, 5, 10, true}, {"tf32", 4, 8, 10, true},
                                        {"e4m3", 1, 4, 3, false}, {"e5m2", 1, 5, 2, true}, {"s8", 1, 0, 7, false}};
inline int k_of(int format) { return 32 / FORMATS[format].bytes; }

// ---- operand decoding: value = sign * significand * 2^(exponent - mantissa)
struct Term {
  bool nan, inf, negative;
  int64_t significand;  // magnitude
  int exponent;         // of the leading bit of a normal number; the least one for subnormals and zero
};

inline Term decode(uint32_t code, int exponent_bits, int mantissa, bool has_inf) {
  uint32_t magnitude = code & ((1u << (exponent_bits + mantissa)) - 1u);
  uint32_t field = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1u);
  uint32_t top = (1u << exponent_bits) - 1u;
  int bias = (1 << (exponent_bits - 1)) - 1;
  Term t{false, false, bool(code >> (exponent_bits + mantissa) & 1u), 0, 0};
  if (has_inf && field == top) {
    t.nan = fraction != 0;
    t.inf = fraction == 0;
  } else if (!has_inf && magnitude == (1u << (exponent_bits + mantissa)) - 1u) {
    t.nan = true;
  }
  t.exponent = field == 0 ? 1 - bias : int(field) - bias;
  t.significand = int64_t(fraction) + (field == 0 ? 0 : 1 << mantissa);
  return t;
}
inline uint32_t load_code(const uint8_t* row, int format, int k) {
  int n = FORMATS[format].bytes;
  uint32_t v = 0;
  memcpy(&v, row + k * n, n);
  return v;
}
inline Term decode_operand(uint32_t code, int format) {
  const FormatFacts& f = FORMATS[format];
  if (format == TF32) code >>= 13;
  return decode(code, f.exponent_bits, f.mantissa, f.has_inf);
}

// ---- the model
struct ModelOptions {
  int fraction_bits;    // F: bits kept below the largest exponent
  int result_bits;      // fraction bits of the result: 23, or 13 for the short fp8 accumulator
  int group;            // products summed in one alignment; the accumulator joins the first
  bool zero_has_exponent;  // a zero product or accumulator takes part in the largest exponent
};

inline int64_t shift_truncate(int64_t magnitude, int left) {
  if (left >= 0) return left > 62 ? 0 : magnitude << left;
  return -left > 62 ? 0 : magnitude >> -left;
}

// sum * 2^scale -> f32 bits, truncated toward zero to result_bits fraction bits. A zero is always +0.
inline uint32_t truncate_to_f32(__int128 sum, int scale, int result_bits) {
  if (sum == 0) return 0u;
  uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  unsigned __int128 m = sum < 0 ? -sum : sum;
  int top = 0;
  while (m >> top > 1) ++top;
  int exponent = top + scale;
  if (exponent > 127) return sign | 0x7f800000u;
  int lsb = (exponent < -126 ? -126 : exponent) - result_bits;  // weight of the last kept bit
  int drop = lsb - scale;
  unsigned __int128 kept = drop >= 0 ? (drop > 120 ? 0 : m >> drop) : m << -drop;
  uint32_t fraction = uint32_t(kept) << (23 - result_bits);
  if (exponent < -126) return fraction ? sign | fraction : 0u;
  return sign | (uint32_t(exponent + 127) << 23) + (fraction - 0x800000u);
}

inline uint32_t model_group(const Term* a, const Term* b, int n, int mantissa, bool has_c, uint32_t c_bits, const ModelOptions& o) {
  Term c = decode(has_c ? c_bits : 0u, 8, 23, true);
  bool nan = c.nan, plus = c.inf && !c.negative, minus = c.inf && c.negative;
  int largest = -100000;
  auto see = [&](int64_t significand, int exponent) {
    if ((significand != 0 || o.zero_has_exponent) && exponent > largest) largest = exponent;
  };
  if (has_c) see(c.significand, c.exponent);
  for (int k = 0; k < n; ++k) {
    bool negative = a[k].negative != b[k].negative;
    nan |= a[k].nan || b[k].nan;
    if (a[k].inf || b[k].inf) {
      bool zero = (a[k].inf && !b[k].inf && b[k].significand == 0) || (b[k].inf && !a[k].inf && a[k].significand == 0);
      nan |= zero;
      (negative ? minus : plus) = true;
    }
    see(a[k].significand * b[k].significand, a[k].exponent + b[k].exponent);
  }
  if (nan || (plus && minus)) return 0x7fffffffu;
  if (plus || minus) return plus ? 0x7f800000u : 0xff800000u;
  if (largest == -100000) return 0u;
  __int128 sum = 0;
  auto add = [&](int64_t significand, int exponent, int bits, bool negative) {
    int64_t v = shift_truncate(significand, o.fraction_bits - bits - (largest - exponent));
    sum += negative ? -v : v;
  };
  if (has_c) add(c.significand, c.exponent, 23, c.negative);
  for (int k = 0; k < n; ++k)
    add(a[k].significand * b[k].significand, a[k].exponent + b[k].exponent, 2 * mantissa, a[k].negative != b[k].negative);
  return truncate_to_f32(sum, largest - o.fraction_bits, o.result_bits);
}

inline uint32_t model_step(const uint8_t* a_row, const uint8_t* b_row, int format, bool has_c, uint32_t c, const ModelOptions& o) {
  int n = k_of(format);
  if (format == S8) {
    uint32_t sum = has_c ? c : 0u;
    for (int k = 0; k < n; ++k) sum += uint32_t(int(int8_t(a_row[k])) * int(int8_t(b_row[k])));
    return sum;
  }
  Term a[32], b[32];
  for (int k = 0; k < n; ++k) {
    a[k] = decode_operand(load_code(a_row, format, k), format);
    b[k] = decode_operand(load_code(b_row, format, k), format);
  }
  for (int k = 0; k < n; k += o.group) {
    c = model_group(a + k, b + k, o.group < n ? o.group : n, FORMATS[format].mantissa, has_c, c, o);
    has_c = true;
  }
  return c;
}

// mma.sync on 8-bit floats has no unit of its own on compute capability 9.0: the assembler widens to f16 and
// runs two k16 steps from +0 (k mod 4 in {0, 1}, then {2, 3}), then one ordinary f32 addition of C.
inline uint32_t model_widened_fp8(const uint8_t* a_row, const uint8_t* b_row, int format, uint32_t c) {
  auto widen = [&](uint8_t code) {
    const FormatFacts& f = FORMATS[format];
    return decode(f16_from_f32(f32_from_small(code, f.exponent_bits, f.mantissa, f.has_inf)), 5, 10, true);
  };
  ModelOptions o{25, 23, 16, false};
  uint32_t d = 0;
  for (int half = 0; half < 2; ++half) {
    Term a[16], b[16];
    int n = 0;
    for (int k = 0; k < 32; ++k)
      if (k / 2 % 2 == half) a[n] = widen(a_row[k]), b[n] = widen(b_row[k]), ++n;
    d = model_group(a, b, 16, 10, true, d, o);
  }
  volatile float x, y;
  memcpy((void*)&x, &d, 4), memcpy((void*)&y, &c, 4);
  float sum = x + y;
  uint32_t bits;
  memcpy(&bits, &sum, 4);
  return is_nan32(bits) ? 0x7fffffffu : bits;
}

// ---- inputs
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int below(int n) { return int(next() % uint64_t(n)); }
};

enum Category {
  MODERATE, WIDE, SUBNORMAL_OPERANDS, SUBNORMAL_RESULTS, CANCELLING, SIGNED_ZEROS, SPECIALS, OVERFLOWING, ALIGNMENT, RAW_BITS,
  SPARSE, ZERO_TIMES_LARGE, NEGATIVE_ZEROS, UNDERFLOWING, LOW_NAN, N_CATEGORIES
};
inline const char* category_name(int c) {
  static const char* names[] = {"moderate", "wide", "subnormal operands", "subnormal results", "cancelling", "signed zeros",
                                "specials", "overflowing", "alignment", "raw bits", "sparse", "zero times large", "only -0 products",
                                "underflowing", "nan below the kept bits"};
  return names[c];
}

// A code with the given exponent field (clamped), random sign and fraction.
inline uint32_t code_with_field(Random& r, int format, int field) {
  const FormatFacts& f = FORMATS[format];
  int mantissa = format == TF32 ? 23 : f.mantissa;  // tf32 operands carry 13 bits that the unit drops
  int top = (1 << f.exponent_bits) - (f.has_inf ? 2 : 1);
  if (field < 0) field = 0;
  if (field > top) field = top;
  uint32_t fraction = uint32_t(r.next()) & ((1u << mantissa) - 1u);
  if (!f.has_inf && field == top && fraction == (1u << mantissa) - 1u) --fraction;
  return uint32_t(r.next() & 1) << (f.exponent_bits + mantissa) | uint32_t(field) << mantissa | fraction;
}
inline uint32_t f32_with_exponent(Random& r, int exponent) {
  int field = exponent + 127;
  if (field < 0) field = 0;
  if (field > 254) field = 254;
  return uint32_t(r.next() & 1) << 31 | uint32_t(field) << 23 | (uint32_t(r.next()) & 0x7fffffu);
}

inline uint32_t operand(Random& r, int format, int category, int k, int spread) {
  const FormatFacts& f = FORMATS[format];
  if (format == S8) {
    if (category == OVERFLOWING) return r.next() & 1 ? 0x80 : 0x7f;
    if (category == SPARSE && r.below(8)) return 0;
    return uint32_t(r.next()) & 0xffu;
  }
  int mantissa = format == TF32 ? 23 : f.mantissa;
  int bias = (1 << (f.exponent_bits - 1)) - 1, top = (1 << f.exponent_bits) - 1;
  uint32_t sign = uint32_t(r.next() & 1) << (f.exponent_bits + mantissa);
  uint32_t inf = uint32_t(top) << mantissa;
  switch (category) {
    case MODERATE: return code_with_field(r, format, bias - 3 + r.below(5));
    case WIDE: return code_with_field(r, format, bias - spread / 2 + r.below(spread + 1));
    case SUBNORMAL_OPERANDS: return code_with_field(r, format, r.below(3) ? 0 : bias + r.below(bias));
    case SUBNORMAL_RESULTS: return code_with_field(r, format, f.exponent_bits == 8 ? bias - 68 + r.below(8) : r.below(3));
    case CANCELLING: return code_with_field(r, format, bias - 1 + r.below(3));
    case SIGNED_ZEROS: return r.below(12) ? sign : code_with_field(r, format, bias);
    case SPECIALS: {
      if (r.below(24)) return code_with_field(r, format, bias - 2 + r.below(5));
      int kind = r.below(4);
      if (kind == 0) return sign;
      if (!f.has_inf) return sign | ((1u << (f.exponent_bits + mantissa)) - 1u);  // NaN
      return kind == 1 ? sign | inf | 1u << (mantissa - 1 - r.below(2)) : sign | inf;
    }
    case OVERFLOWING: return code_with_field(r, format, f.exponent_bits == 8 ? bias + 62 + r.below(4) : top);
    case ALIGNMENT: return code_with_field(r, format, k == 0 ? bias + spread / 4 : bias - spread / 4 + r.below(2));
    case RAW_BITS: return uint32_t(r.next()) & (format == TF32 ? 0xffffffffu : (1u << (8 * f.bytes)) - 1u);
    case NEGATIVE_ZEROS: return 0u;  // replaced in make_tile
    case UNDERFLOWING: return code_with_field(r, format, r.below(3) ? 0 : 1 + r.below(f.exponent_bits == 8 ? 30 : 1));
    case LOW_NAN: {
      if (r.below(16)) return code_with_field(r, format, bias);
      uint32_t low = 1u << r.below(mantissa > 13 ? 13 : mantissa);  // tf32: a NaN only in the dropped bits
      return r.below(2) ? sign | inf | low : sign | inf;
    }
    case SPARSE: return r.below(6) ? 0 : code_with_field(r, format, bias - spread / 2 + r.below(spread + 1));
    default: return r.below(3) ? (k % 2 ? sign : code_with_field(r, format, top - 1 - r.below(2)))
                               : code_with_field(r, format, r.below(bias));
  }
}

struct Tile {
  uint8_t a[64][32], b[8][32];
  uint32_t c[64][8];
};

inline Tile make_tile(int format, int category, int index) {
  Random r{uint64_t(format) << 48 ^ uint64_t(category) << 32 ^ uint64_t(index) * 0x632be59bd9b4e019ull ^ 0x1234567};
  Tile t;
  int n = k_of(format), bytes = FORMATS[format].bytes;
  int bias = FORMATS[format].exponent_bits ? (1 << (FORMATS[format].exponent_bits - 1)) - 1 : 0;
  int spread = bias > 100 ? 4 + r.below(40) : 2 + r.below(2 * bias > 1 ? 2 * bias - 1 : 1);
  auto fill = [&](uint8_t* row, bool is_b) {
    for (int k = 0; k < n; ++k) {
      int kind = category == ZERO_TIMES_LARGE && is_b ? k + 1 : k;
      uint32_t v = operand(r, format, category, kind, spread);
      // pairs of equal magnitude make products cancel
      if (category == CANCELLING && k % 2 == 1 && r.below(4)) {
        v = load_code(row, format, k - 1);
        if (!is_b) v ^= 1u << (8 * bytes - 1);
      }
      if (category == NEGATIVE_ZEROS) {  // products are all -0: negative numbers or -0 against +0, or the reverse
        bool number = r.below(2);
        uint32_t top_bit = 1u << (8 * bytes - 1);
        v = is_b ? 0u : number && format != S8 ? code_with_field(r, format, bias) | top_bit : top_bit;
        if (format == S8) v = 0;
      }
      memcpy(row + k * bytes, &v, bytes);
    }
  };
  for (auto& row : t.a) fill(row, false);
  for (auto& row : t.b) fill(row, true);
  for (auto& row : t.c)
    for (auto& c : row) {
      c = f32_with_exponent(r, -4 + r.below(9));
      if (format == S8) c = category == OVERFLOWING ? (r.next() & 1 ? 0x7ffffff0u : 0x80000010u) : uint32_t(r.next());
      else if (category == WIDE || category == SPARSE) c = f32_with_exponent(r, -spread + r.below(2 * spread + 1));
      else if (category == SUBNORMAL_OPERANDS) c = r.below(2) ? f32_with_exponent(r, -127) : f32_with_exponent(r, -120 + r.below(130));
      else if (category == SUBNORMAL_RESULTS) c = r.below(2) ? f32_with_exponent(r, -127) : f32_with_exponent(r, -128 + r.below(8));
      else if (category == NEGATIVE_ZEROS) c = 0x80000000u;
      else if (category == UNDERFLOWING) c = r.below(2) ? uint32_t(r.next() & 1) << 31 : f32_with_exponent(r, -127) & 0x800000ffu;
      else if (category == SIGNED_ZEROS) c = r.below(4) ? uint32_t(r.next() & 1) << 31 : f32_with_exponent(r, -127 + r.below(4));
      else if (category == SPECIALS && r.below(4) == 0) {
        static const uint32_t values[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f800001u, 0x80000000u, 0u, 0x7f7fffffu};
        c = values[r.below(8)];
      } else if (category == OVERFLOWING) c = f32_with_exponent(r, 124 + r.below(4));
      else if (category == ALIGNMENT) c = f32_with_exponent(r, -spread / 2 + r.below(spread + 1) - r.below(26));
      else if (category == RAW_BITS) c = uint32_t(r.next());
      else if (category == ZERO_TIMES_LARGE) c = f32_with_exponent(r, -100 + r.below(100));
    }
  return t;
}
