// The intrinsics of the functions' text as plain operators, for vector code. Stands in namespace `plain`.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float fabsf(float a) { return __builtin_fabsf(a); }
static inline unsigned __float_as_uint(float a) { unsigned u; __builtin_memcpy(&u, &a, 4); return u; }
static inline float __uint_as_float(unsigned u) { float a; __builtin_memcpy(&a, &u, 4); return a; }
static inline float ak_max_nan_f32(float a, float b) { return a > b || a != a ? a : b; }  // b is never NaN
static inline float ak_min_nan_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline float ak_usual_div_f32(float a, float b) {  // the operations of the GPU's, from the nearest reciprocal
  float y = 1.0f / b;
  y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
  float q = __fmul_rn(a, y);
  q = __fmaf_rn(__fmaf_rn(b, q, -a), -y, q);
  return __fmaf_rn(__fmaf_rn(b, q, -a), -y, q);
}
