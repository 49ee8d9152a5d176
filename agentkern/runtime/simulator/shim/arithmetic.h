// Bit casts, IEEE arithmetic and integer intrinsics.
// Every floating result passes through an empty asm, so that the host compiler cannot fold it into
// its user (g++ turns -fma(a,b,c) into fnmsub and loses the sign of an exact zero), and every f32
// NaN becomes the GPU's 0x7fffffff. f64 results keep the payload the host gives.
#if defined(__x86_64__)
#define AK_SIM_OPAQUE(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define AK_SIM_OPAQUE(v) __asm__("" : "+w"(v))
#else
#define AK_SIM_OPAQUE(v) __asm__("" : "+m"(v))
#endif

#define AK_SIM_BIT_CAST(NAME, FROM, TO)     \
    static inline TO NAME(FROM from) {      \
        TO to;                              \
        __builtin_memcpy(&to, &from, sizeof to); \
        return to;                          \
    }
AK_SIM_BIT_CAST(__float_as_uint, float, unsigned)
AK_SIM_BIT_CAST(__float_as_int, float, int)
AK_SIM_BIT_CAST(__uint_as_float, unsigned, float)
AK_SIM_BIT_CAST(__int_as_float, int, float)
AK_SIM_BIT_CAST(__double_as_longlong, double, long long)
AK_SIM_BIT_CAST(__longlong_as_double, long long, double)

static inline float ak_sim_result(float v) {
    AK_SIM_OPAQUE(v);
    if (__builtin_expect(v != v, 0)) return __uint_as_float(0x7fffffffu);
    return v;
}
static inline double ak_sim_result(double v) {
    AK_SIM_OPAQUE(v);
    return v;
}

static inline float __fadd_rn(float a, float b) { return ak_sim_result(a + b); }
static inline float __fsub_rn(float a, float b) { return ak_sim_result(a - b); }
static inline float __fmul_rn(float a, float b) { return ak_sim_result(a * b); }
static inline float __fdiv_rn(float a, float b) { return ak_sim_result(a / b); }
static inline float __fmaf_rn(float a, float b, float c) {
    return ak_sim_result(__builtin_fmaf(a, b, c));
}
static inline float fabsf(float a) { return __uint_as_float(__float_as_uint(a) & 0x7fffffffu); }
static inline float __fsqrt_rn(float a) { return ak_sim_result(__builtin_sqrtf(a)); }
static inline float __frcp_rn(float a) { return ak_sim_result(1.0f / a); }
static inline double __dadd_rn(double a, double b) { return ak_sim_result(a + b); }
static inline double __dsub_rn(double a, double b) { return ak_sim_result(a - b); }
static inline double __dmul_rn(double a, double b) { return ak_sim_result(a * b); }
static inline double __ddiv_rn(double a, double b) { return ak_sim_result(a / b); }
static inline double __fma_rn(double a, double b, double c) {
    return ak_sim_result(__builtin_fma(a, b, c));
}
static inline double __dsqrt_rn(double a) { return ak_sim_result(__builtin_sqrt(a)); }

static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned __brev(unsigned v) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (v >> i & 1u) << (31 - i);
    return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned pick = s >> (4 * i) & 0xfu;
        unsigned byte = (unsigned)(bytes >> (8 * (pick & 7u))) & 0xffu;
        if (pick & 8u) byte = byte & 0x80u ? 0xffu : 0u;
        r |= byte << (8 * i);
    }
    return r;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31u) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31u));
}

#define AK_SIM_MIN_MAX(T)                                       \
    static inline T min(T a, T b) { return b < a ? b : a; }     \
    static inline T max(T a, T b) { return a < b ? b : a; }
AK_SIM_MIN_MAX(int)
AK_SIM_MIN_MAX(unsigned)
AK_SIM_MIN_MAX(long long)
AK_SIM_MIN_MAX(unsigned long long)
