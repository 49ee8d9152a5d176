// The instruction functions: what inline PTX does on the GPU, in integers on the host.

static inline float ak_max_nan_f32(float a, float b) {
    if (a != a || b != b) return __uint_as_float(0x7fffffffu);
    if (a == b) return __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
    return a < b ? b : a;
}
static inline float ak_min_nan_f32(float a, float b) {
    if (a != a || b != b) return __uint_as_float(0x7fffffffu);
    if (a == b) return __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
    return b < a ? b : a;
}

static inline float ak_usual_div_f32(float a, float b) { return __fdiv_rn(a, b); }

static inline unsigned short ak_cvt_bf16_f32(float v) {
    unsigned bits = __float_as_uint(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static inline unsigned ak_cvt_bf16x2_f32(float high, float low) {
    return (unsigned)ak_cvt_bf16_f32(high) << 16 | ak_cvt_bf16_f32(low);
}

// `significand` (24 bits, value significand * 2^-23 * 2^exponent) to a multiple of 2^-mantissa_bits
// of the target's binade, ties to even; a carry runs into the exponent as it should.
static inline unsigned ak_sim_round_to_narrow(unsigned magnitude, int mantissa_bits, int bias) {
    int exponent = (int)(magnitude >> 23) - 127;
    if (exponent < -126) return 0;  // an f32 subnormal is below half of every narrow subnormal
    unsigned significand = (magnitude & 0x7fffffu) | 0x800000u;
    int drop = 23 - mantissa_bits;
    if (exponent < 1 - bias) drop += 1 - bias - exponent;
    if (drop > 25) return 0;
    unsigned kept = significand >> drop;
    unsigned rest = significand & ((1u << drop) - 1u), half = 1u << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1u));
    if (exponent < 1 - bias) return kept;
    return kept + ((unsigned)(exponent + bias - 1) << mantissa_bits);
}

static inline unsigned short ak_cvt_f16_f32(float v) {
    unsigned bits = __float_as_uint(v), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fffu;
    unsigned sign = bits >> 16 & 0x8000u;
    if (magnitude >= 0x47800000u) return (unsigned short)(sign | 0x7c00u);  // 2^16 and above
    return (unsigned short)(sign | ak_sim_round_to_narrow(magnitude, 10, 15));
}
static inline unsigned ak_cvt_f16x2_f32(float high, float low) {
    return (unsigned)ak_cvt_f16_f32(high) << 16 | ak_cvt_f16_f32(low);
}
static inline float ak_cvt_f32_f16(unsigned short v) {
    unsigned sign = (unsigned)(v & 0x8000u) << 16, exponent = v >> 10 & 31u, mantissa = v & 0x3ffu;
    if (exponent == 31u) {
        return __uint_as_float(mantissa ? 0x7fffffffu : sign | 0x7f800000u);
    }
    if (exponent == 0u) {
        if (mantissa == 0u) return __uint_as_float(sign);
        int shift = __builtin_clz(mantissa) - 21;  // brings the leading one to bit 10
        return __uint_as_float(sign | (unsigned)(113 - shift) << 23 | (mantissa << shift & 0x3ffu) << 13);
    }
    return __uint_as_float(sign | (exponent + 112u) << 23 | mantissa << 13);
}

static inline unsigned ak_sim_e4m3_f32(float v) {
    unsigned bits = __float_as_uint(v), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fu;
    unsigned sign = bits >> 24 & 0x80u;
    if (magnitude >= 0x43e00000u) return sign | 0x7eu;  // 448 and above saturate
    return sign | ak_sim_round_to_narrow(magnitude, 3, 7);
}
static inline unsigned short ak_cvt_e4m3x2_f32(float high, float low) {
    return (unsigned short)(ak_sim_e4m3_f32(high) << 8 | ak_sim_e4m3_f32(low));
}
static inline unsigned ak_sim_f16_e4m3(unsigned v) {
    unsigned sign = (v & 0x80u) << 8, exponent = v >> 3 & 15u, mantissa = v & 7u;
    if ((v & 0x7fu) == 0x7fu) return 0x7fffu;
    if (exponent == 0u) {
        if (mantissa == 0u) return sign;
        int shift = __builtin_clz(mantissa) - 28;  // brings the leading one to bit 3
        return sign | (unsigned)(9 - shift) << 10 | (mantissa << shift & 7u) << 7;
    }
    return sign | (exponent + 8u) << 10 | mantissa << 7;
}
static inline unsigned ak_cvt_f16x2_e4m3x2(unsigned short v) {
    return ak_sim_f16_e4m3(v >> 8) << 16 | ak_sim_f16_e4m3(v & 0xffu);
}

static inline unsigned ak_sim_e5m2_f32(float v) {
    unsigned bits = __float_as_uint(v), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fu;
    unsigned sign = bits >> 24 & 0x80u;
    if (magnitude >= 0x47600000u) return sign | 0x7bu;  // 57344 and above saturate
    return sign | ak_sim_round_to_narrow(magnitude, 2, 15);
}
static inline unsigned short ak_cvt_e5m2x2_f32(float high, float low) {
    return (unsigned short)(ak_sim_e5m2_f32(high) << 8 | ak_sim_e5m2_f32(low));
}
static inline unsigned ak_sim_f16_e5m2(unsigned v) {  // the upper half of an f16
    return (v & 0x7fu) > 0x7cu ? 0x7fffu : v << 8;
}
static inline unsigned ak_cvt_f16x2_e5m2x2(unsigned short v) {
    return ak_sim_f16_e5m2(v >> 8) << 16 | ak_sim_f16_e5m2(v & 0xffu);
}

static inline int ak_cvt_i32_f32(float v) {
    if (v != v) return 0;
    if (v >= 0x1p31f) return 0x7fffffff;
    if (v < -0x1p31f) return -0x7fffffff - 1;
    return (int)v;
}
static inline long long ak_cvt_i64_f32(float v) {
    if (v != v) return 0;
    if (v >= 0x1p63f) return 0x7fffffffffffffffll;
    if (v < -0x1p63f) return -0x7fffffffffffffffll - 1;
    return (long long)v;
}
static inline float ak_cvt_f32_i32(int v) { return ak_sim_result((float)v); }
static inline float ak_cvt_f32_i64(long long v) { return ak_sim_result((float)v); }
