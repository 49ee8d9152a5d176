// Integer models of the casts the prelude relies on, compiled for the host and for the device.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define BOTH __host__ __device__ inline
#else
#define BOTH inline
#endif

BOTH bool is_nan32(uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; }

BOTH uint32_t bf16_from_f32(uint32_t x) {
  if (is_nan32(x)) return 0x7fffu;
  return (x + 0x7fffu + (x >> 16 & 1u)) >> 16;
}

// Round to nearest even to a format with `mantissa` bits and minimal exponent `e_min`; the result is
// the magnitude's code (exponent field starting at 1 for e_min), not yet checked for overflow.
BOTH uint32_t round_to_format(uint32_t magnitude, int mantissa, int e_min) {
  if (magnitude == 0) return 0;
  int field = int(magnitude >> 23);
  int exponent = field == 0 ? -126 : field - 127;
  uint32_t significand = (magnitude & 0x7fffffu) | (field == 0 ? 0u : 0x800000u);
  int drop = 23 - mantissa + (exponent < e_min ? e_min - exponent : 0);
  uint32_t base = exponent < e_min ? 0u : uint32_t(exponent - e_min + 1) << mantissa;
  uint32_t hidden = exponent < e_min ? 0u : 1u << mantissa;
  if (drop > 25) return 0;
  uint32_t kept = significand >> drop, rest = significand & ((1u << drop) - 1u), half = 1u << (drop - 1);
  if (rest > half || (rest == half && (kept & 1u))) ++kept;
  return base + kept - hidden;
}

BOTH uint32_t f16_from_f32(uint32_t x) {
  if (is_nan32(x)) return 0x7fffu;
  uint32_t sign = x >> 16 & 0x8000u, magnitude = x & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return sign | 0x7c00u;
  uint32_t code = round_to_format(magnitude, 10, -14);
  return sign | (code > 0x7c00u ? 0x7c00u : code);
}

BOTH uint32_t e4m3_from_f32(uint32_t x) {
  if (is_nan32(x)) return 0x7fu;
  uint32_t sign = x >> 24 & 0x80u, magnitude = x & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return sign | 0x7eu;
  uint32_t code = round_to_format(magnitude, 3, -6);
  return sign | (code > 0x7eu ? 0x7eu : code);
}

BOTH uint32_t e5m2_from_f32(uint32_t x) {
  if (is_nan32(x)) return 0x7fu;
  uint32_t sign = x >> 24 & 0x80u, magnitude = x & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return sign | 0x7bu;
  uint32_t code = round_to_format(magnitude, 2, -14);
  return sign | (code > 0x7bu ? 0x7bu : code);
}

// Toward zero, saturating to [low, high]; NaN gives `on_nan`. Good for up to 64 bits.
BOTH int64_t integer_from_f32(uint32_t x, int64_t low, int64_t high, int64_t on_nan) {
  if (is_nan32(x)) return on_nan;
  bool negative = x >> 31;
  int exponent = int(x >> 23 & 0xff) - 127;
  uint64_t significand = (x & 0x7fffffu) | 0x800000u;
  if (exponent < 0) return low > 0 ? low : 0;
  if (exponent >= 63) return negative ? low : high;
  int64_t magnitude = int64_t(exponent >= 23 ? significand << (exponent - 23) : significand >> (23 - exponent));
  int64_t value = negative ? -magnitude : magnitude;
  return value < low ? low : value > high ? high : value;
}

BOTH uint64_t u64_from_f32(uint32_t x, uint64_t on_nan) {
  if (is_nan32(x)) return on_nan;
  int exponent = int(x >> 23 & 0xff) - 127;
  uint64_t significand = (x & 0x7fffffu) | 0x800000u;
  if (x >> 31 || exponent < 0) return 0;
  if (exponent >= 64) return ~0ull;
  return exponent >= 23 ? significand << (exponent - 23) : significand >> (23 - exponent);
}

BOTH uint32_t f32_from_magnitude(uint64_t m, uint32_t sign) {
  if (m == 0) return 0;
  int top = 63;
  while (!(m >> top & 1)) --top;
  uint64_t kept = m;
  if (top > 23) {
    int drop = top - 23;
    kept = m >> drop;
    uint64_t rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
  } else {
    kept = m << (23 - top);
  }
  return sign | uint32_t((uint64_t(top + 127 - 1) << 23) + kept);
}
BOTH uint32_t f32_from_s64(int64_t v) {
  uint64_t m = v < 0 ? 0 - uint64_t(v) : uint64_t(v);
  return f32_from_magnitude(m, v < 0 ? 0x80000000u : 0u);
}

// Widening of small formats; NaN gives 0x7fffffff.
BOTH uint32_t f32_from_small(uint32_t code, int exponent_bits, int mantissa, bool has_inf) {
  uint32_t sign = (code >> (exponent_bits + mantissa) & 1u) << 31;
  uint32_t magnitude = code & ((1u << (exponent_bits + mantissa)) - 1u);
  uint32_t field = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1u);
  uint32_t top = (1u << exponent_bits) - 1u;
  int bias = (1 << (exponent_bits - 1)) - 1;
  if (has_inf && field == top) return fraction ? 0x7fffffffu : sign | 0x7f800000u;
  if (!has_inf && field == top && fraction == (1u << mantissa) - 1u) return 0x7fffffffu;
  if (field == 0) {
    if (fraction == 0) return sign;
    int shift = 0;
    while (!(fraction >> mantissa & 1u)) fraction <<= 1, ++shift;
    int exponent = 1 - bias - shift;
    if (exponent < -126) return sign | fraction << (23 - mantissa) >> (-126 - exponent);
    return sign | uint32_t(exponent + 127) << 23 | (fraction & ((1u << mantissa) - 1u)) << (23 - mantissa);
  }
  return sign | (field + 127u - uint32_t(bias)) << 23 | fraction << (23 - mantissa);
}
