// Atomics of floats, on bits. Fibers switch at barriers only, so a read and a write in one function are one step.

// `.add.f32` on global memory takes f32 numbers below 2^-126 for 0 of their sign, and gives 0 for them.
static inline unsigned ak_sim_flushed(unsigned v) {
    return (v & 0x7fffffffu) < 0x00800000u ? v & 0x80000000u : v;
}
static inline unsigned ak_sim_add_f32(unsigned a, unsigned b) {
    float sum = __fadd_rn(__uint_as_float(ak_sim_flushed(a)), __uint_as_float(ak_sim_flushed(b)));
    return ak_sim_flushed(__float_as_uint(sum));
}
static inline unsigned long long ak_sim_add_f64(unsigned long long a, unsigned long long b) {
    double sum = __dadd_rn(__longlong_as_double((long long)a), __longlong_as_double((long long)b));
    return sum != sum ? 0x7fffffffffffffffull : (unsigned long long)__double_as_longlong(sum);
}
// The sum of two numbers of at most 11 bits, rounded to f32 and again, is the one rounded once.
static inline unsigned short ak_sim_add_f16(unsigned short a, unsigned short b) {
    return ak_cvt_f16_f32(__fadd_rn(ak_cvt_f32_f16(a), ak_cvt_f32_f16(b)));
}
static inline unsigned short ak_sim_add_bf16(unsigned short a, unsigned short b) {
    return ak_cvt_bf16_f32(__fadd_rn(__uint_as_float((unsigned)a << 16), __uint_as_float((unsigned)b << 16)));
}

// The larger or smaller of two floats: NAN where one is, and -0 < +0.
#define AK_SIM_EXTREME(NAME, T, SIGN, INFINITE, NAN)                           \
    static inline T ak_sim_ordered_##NAME(T v) {                               \
        return v & SIGN ? (T)~v : (T)(v | SIGN);                               \
    }                                                                          \
    static inline int ak_sim_is_nan_##NAME(T v) { return (v & NAN) > INFINITE; } \
    static inline T ak_sim_max_##NAME(T a, T b) {                              \
        if (ak_sim_is_nan_##NAME(a) || ak_sim_is_nan_##NAME(b)) return NAN;    \
        return ak_sim_ordered_##NAME(a) < ak_sim_ordered_##NAME(b) ? b : a;    \
    }                                                                          \
    static inline T ak_sim_min_##NAME(T a, T b) {                              \
        if (ak_sim_is_nan_##NAME(a) || ak_sim_is_nan_##NAME(b)) return NAN;    \
        return ak_sim_ordered_##NAME(b) < ak_sim_ordered_##NAME(a) ? b : a;    \
    }
AK_SIM_EXTREME(f16, unsigned short, 0x8000u, 0x7c00u, 0x7fffu)
AK_SIM_EXTREME(bf16, unsigned short, 0x8000u, 0x7f80u, 0x7fffu)
AK_SIM_EXTREME(f32, unsigned, 0x80000000u, 0x7f800000u, 0x7fffffffu)
AK_SIM_EXTREME(f64, unsigned long long, 0x8000000000000000ull, 0x7ff0000000000000ull, 0x7fffffffffffffffull)

static inline void ak_red_add_f16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_add_f16(old, given))
}
static inline void ak_red_max_f16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_max_f16(old, given))
}
static inline void ak_red_min_f16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_min_f16(old, given))
}
static inline void ak_red_add_bf16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_add_bf16(old, given))
}
static inline void ak_red_max_bf16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_max_bf16(old, given))
}
static inline void ak_red_min_bf16(void *p, unsigned short v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned short, unsigned short, ak_sim_min_bf16(old, given))
}
static inline void ak_red_add_f32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, ak_sim_add_f32(old, given))
}
static inline void ak_red_max_f32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, ak_sim_max_f32(old, given))
}
static inline void ak_red_min_f32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, ak_sim_min_f32(old, given))
}
static inline void ak_red_add_f64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, ak_sim_add_f64(old, given))
}
static inline void ak_red_max_f64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, ak_sim_max_f64(old, given))
}
static inline void ak_red_min_f64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, ak_sim_min_f64(old, given))
}
