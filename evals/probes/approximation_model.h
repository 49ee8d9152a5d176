// An exact model of rcp, rsqrt and ex2 .approx on compute capability 9.0: quadratic interpolation with a
// truncated squarer. X is the argument's 17 bits below the segment index, S the square of X without the
// partial products in its 19 lowest columns (no carries from them), and all else is exact.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "approximation_tables.h"
#include "cast_models.h"

// Folded square: x_i x_j (i < j) in column i + j + 1, x_i in column 2 i; columns 0 .. 18 left out.
inline uint32_t truncated_square(uint32_t x) {
  uint64_t sum = 0;
  for (int i = 0; i < 17; ++i) {
    if (!(x >> i & 1)) continue;
    if (2 * i > 18) sum += 1ull << (2 * i);
    int least = 18 - i > i + 1 ? 18 - i : i + 1;  // smallest j with i + j + 1 > 18
    if (least < 17) sum += uint64_t(x >> least) << (least + i + 1);
  }
  return uint32_t(sum >> 19);
}

inline uint32_t interpolate(const Segment& s, int bias, uint32_t x) {
  static const std::vector<uint16_t> squares = [] {
    std::vector<uint16_t> t(1 << 17);
    for (uint32_t i = 0; i < 1 << 17; ++i) t[i] = uint16_t(truncated_square(i));
    return t;
  }();
  int64_t v = (int64_t(s.c0) << 15) + bias + int64_t(s.c1) * x + 4ll * s.c2 * squares[x];
  return uint32_t(v >> 17);
}

inline float f32(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t bits32(float f) {
  uint32_t b;
  memcpy(&b, &f, 4);
  return b;
}

// The unit itself: subnormal operands and results are zeros.
inline uint32_t unit_rcp(uint32_t x) {
  uint32_t sign = x & 0x80000000u, fraction = x & 0x7fffffu;
  int field = int(x >> 23 & 0xff);
  if (is_nan32(x)) return 0x7fffffffu;
  if (field == 0) return sign | 0x7f800000u;
  if (field == 255) return sign;
  uint32_t r = fraction == 0 ? 0x800000u : interpolate(RECIPROCAL[fraction >> 16], 8092, (fraction & 0xffffu) << 1);
  int result = 126 - (field - 127);  // the exponent field of a result in [0.5, 1)
  int64_t bits = (int64_t(result) << 23) + r;
  return bits < 0x800000 ? sign : sign | uint32_t(bits);
}

inline uint32_t unit_rsqrt(uint32_t x) {
  uint32_t sign = x & 0x80000000u, fraction = x & 0x7fffffu;
  int field = int(x >> 23 & 0xff);
  if (is_nan32(x)) return 0x7fffffffu;
  if (field == 0) return sign | 0x7f800000u;
  if (sign) return 0x7fffffffu;
  if (field == 255) return 0;
  int odd = (field - 127) & 1, half = (field - 127 - odd) / 2;
  const Segment* table = odd ? INVERSE_ROOT_ODD : INVERSE_ROOT_EVEN;
  uint32_t r = fraction == 0 && !odd ? 0x800000u : interpolate(table[fraction >> 17], 32766, fraction & 0x1ffffu);
  return (uint32_t(126 - half) << 23) + r;
}

inline uint32_t unit_ex2(uint32_t x) {
  int field = int(x >> 23 & 0xff);
  bool negative = x >> 31;
  if (is_nan32(x)) return 0x7fffffffu;
  if (field >= 127 + 8) return negative ? 0u : 0x7f800000u;
  int64_t magnitude = field == 0 ? 0 : int64_t((x & 0x7fffffu) | 0x800000u);
  int left = field - 127;  // magnitude * 2^left has 23 fraction bits; bits below are dropped
  int64_t fixed = left >= 0 ? magnitude << left : left < -24 ? 0 : magnitude >> -left;
  // a negative argument with a fraction is complemented, not negated: one unit lower
  if (negative) fixed = (fixed & 0x7fffff) == 0 ? -fixed : ~fixed;
  int64_t whole = fixed >> 23;
  uint32_t fraction = uint32_t(fixed & 0x7fffff);
  uint32_t r = interpolate(POWER[fraction >> 17], 24456, fraction & 0x1ffffu);
  int64_t bits = ((whole + 127) << 23) + r;
  if (bits >= 0x7f800000ll) return 0x7f800000u;
  return bits < 0x800000 ? 0u : uint32_t(bits);
}

// The instructions without .ftz scale around the unit, as the assembler prints them.
inline uint32_t model_rcp(uint32_t x) {
  float v = f32(x), magnitude = fabsf(v);
  float scale = magnitude > 0x1p126f ? 0.25f : magnitude < 0x1p-126f ? 0x1p24f : 1.0f;
  if (is_nan32(x)) return 0x7fffffffu;
  return bits32(f32(unit_rcp(bits32(v * scale))) * scale);
}
inline uint32_t model_rsqrt(uint32_t x) {
  if (is_nan32(x)) return 0x7fffffffu;
  if (!(fabsf(f32(x)) < 0x1p-126f)) return unit_rsqrt(x);
  uint32_t r = unit_rsqrt(bits32(f32(x) * 0x1p24f));
  return is_nan32(r) ? r : bits32(f32(r) * 0x1p12f);
}
inline uint32_t model_ex2(uint32_t x) {
  if (is_nan32(x)) return 0x7fffffffu;
  if (f32(x) >= -126.0f) return unit_ex2(x);
  float r = f32(unit_ex2(bits32(f32(x) * 0.5f)));
  return bits32(r * r);
}
