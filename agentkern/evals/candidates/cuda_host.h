// Ordinary CUDA C++ on the host, for submissions that were not written for the simulator: raw pointers, 3-D grids,
// static and dynamic shared memory, the usual types and intrinsics. Stands behind the simulator's own `abi.h`,
// `threads.h` and `arithmetic.h`. Blocks run one after another, so shared memory is one static object.
#undef __shared__
#define __shared__ static __attribute__((section("ak_shared")))
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INTPTR_TYPE__ intptr_t;

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
static uint3 ak_cuda_grid, ak_cuda_block;
static inline uint3 ak_cuda_place(unsigned n, uint3 extent) {
    return uint3{n % extent.x, n / extent.x % extent.y, n / extent.x / extent.y};
}
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#define threadIdx (ak_cuda_place(ak_sim_current->thread.x, ak_cuda_block))
#define blockIdx (ak_cuda_place(ak_sim_current->block.x, ak_cuda_grid))
#define blockDim ak_cuda_block
#define gridDim ak_cuda_grid

// Shared memory holds a pattern when a block begins, so that a read of what nothing wrote shows.
__attribute__((aligned(1024))) static unsigned char ak_cuda_dynamic_shared[232448];
__attribute__((section("ak_shared"), used)) static unsigned char ak_cuda_shared_begin[16];
extern unsigned char __start_ak_shared[] __attribute__((visibility("hidden")));
extern unsigned char __stop_ak_shared[] __attribute__((visibility("hidden")));
static unsigned long long ak_cuda_last_block;
static inline void ak_cuda_enter() {
    if (ak_cuda_last_block == ak_sim_current->block.x + 1ull) return;
    ak_cuda_last_block = ak_sim_current->block.x + 1ull;
    __builtin_memset(__start_ak_shared, 0xcd, (size_t)(__stop_ak_shared - __start_ak_shared));
    __builtin_memset(ak_cuda_dynamic_shared, 0xcd, sizeof ak_cuda_dynamic_shared);
}

#define AK_CUDA_VECTORS(T, NAME)                                                                         \
    struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                                   \
    struct NAME##3 { T x, y, z; };                                                                       \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };                   \
    static inline NAME##2 make_##NAME##2(T x, T y) { return NAME##2{x, y}; }                             \
    static inline NAME##3 make_##NAME##3(T x, T y, T z) { return NAME##3{x, y, z}; }                     \
    static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return NAME##4{x, y, z, w}; }
AK_CUDA_VECTORS(float, float)
AK_CUDA_VECTORS(double, double)
AK_CUDA_VECTORS(int, int)
AK_CUDA_VECTORS(short, short)
AK_CUDA_VECTORS(unsigned short, ushort)
AK_CUDA_VECTORS(signed char, char)
AK_CUDA_VECTORS(unsigned char, uchar)
AK_CUDA_VECTORS(long long, longlong)

extern "C" {
#define AK_CUDA_MATH(NAME) float NAME##f(float); double NAME(double);
AK_CUDA_MATH(exp) AK_CUDA_MATH(exp2) AK_CUDA_MATH(expm1) AK_CUDA_MATH(log) AK_CUDA_MATH(log2) AK_CUDA_MATH(log10)
AK_CUDA_MATH(log1p) AK_CUDA_MATH(sin) AK_CUDA_MATH(cos) AK_CUDA_MATH(tan) AK_CUDA_MATH(asin) AK_CUDA_MATH(acos)
AK_CUDA_MATH(atan) AK_CUDA_MATH(sinh) AK_CUDA_MATH(cosh) AK_CUDA_MATH(tanh) AK_CUDA_MATH(erf) AK_CUDA_MATH(erfc)
AK_CUDA_MATH(sqrt) AK_CUDA_MATH(cbrt) AK_CUDA_MATH(floor) AK_CUDA_MATH(ceil) AK_CUDA_MATH(round) AK_CUDA_MATH(rint)
AK_CUDA_MATH(trunc) AK_CUDA_MATH(nearbyint) AK_CUDA_MATH(tgamma) AK_CUDA_MATH(lgamma)
#define AK_CUDA_MATH2(NAME) float NAME##f(float, float); double NAME(double, double);
AK_CUDA_MATH2(pow) AK_CUDA_MATH2(fmod) AK_CUDA_MATH2(atan2) AK_CUDA_MATH2(hypot) AK_CUDA_MATH2(copysign)
AK_CUDA_MATH2(fmax) AK_CUDA_MATH2(fmin) AK_CUDA_MATH2(remainder) AK_CUDA_MATH2(fdim) AK_CUDA_MATH2(nextafter)
float ldexpf(float, int);
double ldexp(double, int);
double fabs(double);
long lrintf(float);
long long llrintf(float);
}
#define AK_CUDA_FLOAT(NAME) static inline float NAME(float v) { return NAME##f(v); }
AK_CUDA_FLOAT(exp) AK_CUDA_FLOAT(exp2) AK_CUDA_FLOAT(log) AK_CUDA_FLOAT(log2) AK_CUDA_FLOAT(sin) AK_CUDA_FLOAT(cos)
AK_CUDA_FLOAT(tanh) AK_CUDA_FLOAT(erf) AK_CUDA_FLOAT(sqrt) AK_CUDA_FLOAT(floor) AK_CUDA_FLOAT(ceil)
AK_CUDA_FLOAT(round) AK_CUDA_FLOAT(rint) AK_CUDA_FLOAT(trunc) AK_CUDA_FLOAT(fabs) AK_CUDA_FLOAT(log1p)
static inline float pow(float a, float b) { return powf(a, b); }
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline int abs(int v) { return v < 0 ? -v : v; }
static inline long long abs(long long v) { return v < 0 ? -v : v; }
static inline float abs(float v) { return fabsf(v); }
static inline double abs(double v) { return fabs(v); }
static inline long long llabs(long long v) { return abs(v); }
#undef isnan
#undef isinf
#undef isfinite
template <class T> static inline bool isnan(T v) { return v != v; }
template <class T> static inline bool isinf(T v) { return __builtin_isinf(v); }
template <class T> static inline bool isfinite(T v) { return __builtin_isfinite(v); }
template <class T> static inline bool signbit(T v) { return __builtin_signbit(v); }
static inline float rsqrtf(float v) { return 1.0f / sqrtf(v); }
static inline double rsqrt(double v) { return 1.0 / sqrt(v); }
static inline float rsqrt(float v) { return rsqrtf(v); }
static inline float __frsqrt_rn(float v) { return (float)(1.0 / sqrt((double)v)); }
static inline float __saturatef(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
static inline float __expf(float v) { return expf(v); }
static inline float __exp10f(float v) { return powf(10.0f, v); }
static inline float __logf(float v) { return logf(v); }
static inline float __log2f(float v) { return log2f(v); }
static inline float __sinf(float v) { return sinf(v); }
static inline float __cosf(float v) { return cosf(v); }
static inline float __tanf(float v) { return tanf(v); }
static inline float __powf(float a, float b) { return powf(a, b); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __float2float_rn(float v) { return v; }
static inline int __float2int_rn(float v) { return (int)rintf(v); }
static inline int __float2int_rz(float v) { return (int)v; }
static inline int __float2int_rd(float v) { return (int)floorf(v); }
static inline int __float2int_ru(float v) { return (int)ceilf(v); }
static inline float __int2float_rn(int v) { return (float)v; }
static inline float __uint2float_rn(unsigned v) { return (float)v; }
static inline float __double2float_rn(double v) { return (float)v; }

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
static inline int printf(const char *, ...) { return 0; }
#define assert(condition) ((condition) ? (void)0 : __trap())

// Threads switch at barriers only, so an update is one step.
#define AK_CUDA_ATOMIC(NAME, RESULT)                                    \
    template <class T, class V> static inline T NAME(T *p, V given) {   \
        T old = *p, v = (T)given;                                       \
        *p = (T)(RESULT);                                               \
        return old;                                                     \
    }
AK_CUDA_ATOMIC(atomicAdd, old + v)
AK_CUDA_ATOMIC(atomicSub, old - v)
AK_CUDA_ATOMIC(atomicMax, v > old ? v : old)
AK_CUDA_ATOMIC(atomicMin, v < old ? v : old)
AK_CUDA_ATOMIC(atomicExch, v)
AK_CUDA_ATOMIC(atomicAnd, old & v)
AK_CUDA_ATOMIC(atomicOr, old | v)
AK_CUDA_ATOMIC(atomicXor, old ^ v)
template <class T, class U, class V> static inline T atomicCAS(T *p, U compare, V given) {
    T old = *p;
    if (old == (T)compare) *p = (T)given;
    return old;
}

// 16-bit floats: stored as their bits, computed in float and rounded once, as the GPU does for + - * /.
static inline float ak_cuda_from_bf16(unsigned short v) { return __uint_as_float((unsigned)v << 16); }
static inline unsigned short ak_cuda_to_bf16(float v) {
    unsigned bits = __float_as_uint(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static inline float ak_cuda_from_f16(unsigned short v) {
    unsigned sign = (unsigned)(v & 0x8000u) << 16, exponent = v >> 10 & 31u, mantissa = v & 0x3ffu;
    if (exponent == 31u) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112u) << 23 | mantissa << 13);
    float small = (float)mantissa * 5.9604644775390625e-08f;
    return sign ? -small : small;
}
static inline unsigned short ak_cuda_to_f16(float v) {
    unsigned bits = __float_as_uint(v), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fffu;
    if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, rounded by the adder
        float shifted = __uint_as_float(magnitude) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000u));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return (unsigned short)(sign | (magnitude - 0x38000000u) >> 13);
}
#define AK_CUDA_HALF(T, TAG)                                                                                \
    struct T {                                                                                              \
        unsigned short bits;                                                                                \
        T() = default;                                                                                      \
        T(float v) : bits(ak_cuda_to_##TAG(v)) {}                                                           \
        T(double v) : bits(ak_cuda_to_##TAG((float)v)) {}                                                   \
        T(int v) : bits(ak_cuda_to_##TAG((float)v)) {}                                                      \
        operator float() const { return ak_cuda_from_##TAG(bits); }                                         \
        T &operator+=(T b) { return *this = T((float)*this + (float)b); }                                   \
        T &operator-=(T b) { return *this = T((float)*this - (float)b); }                                   \
        T &operator*=(T b) { return *this = T((float)*this * (float)b); }                                   \
        T &operator/=(T b) { return *this = T((float)*this / (float)b); }                                   \
    };                                                                                                      \
    static inline T operator+(T a, T b) { return T((float)a + (float)b); }                                  \
    static inline T operator-(T a, T b) { return T((float)a - (float)b); }                                  \
    static inline T operator*(T a, T b) { return T((float)a * (float)b); }                                  \
    static inline T operator/(T a, T b) { return T((float)a / (float)b); }                                  \
    static inline T operator-(T a) { a.bits ^= 0x8000u; return a; }                                         \
    struct alignas(4) T##2_ { T x, y; };                                                                    \
    static inline T __hadd(T a, T b) { return a + b; }                                                      \
    static inline T __hsub(T a, T b) { return a - b; }                                                      \
    static inline T __hmul(T a, T b) { return a * b; }                                                      \
    static inline T __hdiv(T a, T b) { return a / b; }                                                      \
    static inline T __hneg(T a) { return -a; }                                                              \
    static inline T __habs(T a) { a.bits &= 0x7fffu; return a; }                                            \
    static inline T __hfma(T a, T b, T c) { return T((float)((double)(float)a * (float)b + (float)c)); }    \
    static inline T __hmax(T a, T b) { return (float)a != (float)a ? b : (float)b > (float)a ? b : a; }     \
    static inline T __hmin(T a, T b) { return (float)a != (float)a ? b : (float)b < (float)a ? b : a; }     \
    static inline bool __hisnan(T a) { return (float)a != (float)a; }                                       \
    static inline bool __hgt(T a, T b) { return (float)a > (float)b; }                                      \
    static inline bool __hlt(T a, T b) { return (float)a < (float)b; }                                      \
    static inline T##2_ __hadd2(T##2_ a, T##2_ b) { return T##2_{a.x + b.x, a.y + b.y}; }                   \
    static inline T##2_ __hmul2(T##2_ a, T##2_ b) { return T##2_{a.x * b.x, a.y * b.y}; }
AK_CUDA_HALF(__half, f16)
AK_CUDA_HALF(__nv_bfloat16, bf16)
typedef __half half;
typedef __half2_ __half2;
typedef __half2_ half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162_ __nv_bfloat162;
typedef __nv_bfloat162_ nv_bfloat162;
static inline float __half2float(__half v) { return v; }
static inline __half __float2half(float v) { return __half(v); }
static inline __half __float2half_rn(float v) { return __half(v); }
static inline __half __ushort_as_half(unsigned short v) { __half h; h.bits = v; return h; }
static inline unsigned short __half_as_ushort(__half v) { return v.bits; }
static inline float2 __half22float2(__half2 v) { return float2{v.x, v.y}; }
static inline __half2 __float22half2_rn(float2 v) { return __half2{__half(v.x), __half(v.y)}; }
static inline __half2 __floats2half2_rn(float a, float b) { return __half2{__half(a), __half(b)}; }
static inline __half2 __halves2half2(__half a, __half b) { return __half2{a, b}; }
static inline float __bfloat162float(__nv_bfloat16 v) { return v; }
static inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
static inline __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { __nv_bfloat16 b; b.bits = v; return b; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return float2{v.x, v.y}; }
static inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __nv_bfloat162{__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162{__nv_bfloat16(a), __nv_bfloat16(b)}; }

// How the engine calls a kernel: as `entry.h`, but pointers are numbers, for they are addresses of the host.
template <class T> struct ak_cuda_parameter { static constexpr unsigned word = sizeof(T); };
template <> struct ak_cuda_parameter<float> { static constexpr unsigned word = sizeof(float) | 0x20000u; };
template <> struct ak_cuda_parameter<double> { static constexpr unsigned word = sizeof(double) | 0x20000u; };
template <class... A> struct ak_cuda_signature {
    static constexpr unsigned words[] = {sizeof...(A), ak_cuda_parameter<A>::word...};
};
template <class... A> constexpr unsigned ak_cuda_signature<A...>::words[];
template <unsigned... I> struct ak_cuda_indices {};
template <unsigned N, unsigned... I> struct ak_cuda_count : ak_cuda_count<N - 1, N - 1, I...> {};
template <unsigned... I> struct ak_cuda_count<0, I...> { typedef ak_cuda_indices<I...> type; };
template <class... A, unsigned... I>
static inline void ak_cuda_apply(void (*kernel)(A...), void *const *arguments, ak_cuda_indices<I...>) {
    (void)arguments;
    kernel(*(A *)arguments[I]...);
}
template <class... A> static inline void ak_cuda_call(void (*kernel)(A...), void *const *arguments) {
    ak_cuda_apply(kernel, arguments, typename ak_cuda_count<sizeof...(A)>::type());
}
template <class... A> static inline const unsigned *ak_cuda_describe(void (*)(A...)) {
    return ak_cuda_signature<A...>::words;
}
#define AK_CUDA_EXPORT extern "C" __attribute__((visibility("default")))
#define AK_CUDA_ENTRY(NAME)                                                                           \
    AK_CUDA_EXPORT void ak_sim_entry_##NAME(void *const *arguments) {                                 \
        ak_cuda_enter();                                                                              \
        ak_cuda_call(&NAME, arguments);                                                               \
    }                                                                                                 \
    AK_CUDA_EXPORT const unsigned *ak_sim_signature_##NAME() { return ak_cuda_describe(&NAME); }
#define AK_CUDA_MODULE                                                                                \
    __attribute__((aligned(65536))) unsigned char ak_smem[262144];                                    \
    AK_CUDA_EXPORT void *ak_sim_bind(const ak_sim_engine_table *table, ak_sim_thread ***current) {    \
        ak_sim_engine = table;                                                                        \
        *current = &ak_sim_current;                                                                   \
        return ak_smem;                                                                               \
    }                                                                                                 \
    AK_CUDA_EXPORT void ak_cuda_begin(const unsigned *extents) {                                      \
        ak_cuda_grid = uint3{extents[0], extents[1], extents[2]};                                     \
        ak_cuda_block = uint3{extents[3], extents[4], extents[5]};                                    \
        ak_cuda_last_block = 0;                                                                       \
    }
