// What a NaN's bits become when plain C++ negates, takes the magnitude of, selects, copies or adds it.
// Compiled by nvcc and by NVRTC; run by nan_moves.py.
#define KERNEL(name, expression)                                                       \
  extern "C" __global__ void name(const float* a, const float* b, float* out, int n) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i >= n) return;                                                                \
    float x = a[i], y = b[i];                                                          \
    (void)y;                                                                           \
    out[i] = expression;                                                               \
  }
KERNEL(copy_, x)
KERNEL(neg, -x)
KERNEL(abs_, fabsf(x))
KERNEL(neg_abs, -fabsf(x))
KERNEL(neg_neg_through_memory, __uint_as_float(__float_as_uint(-x)))
KERNEL(sign_xor, __uint_as_float(__float_as_uint(x) ^ 0x80000000u))
KERNEL(sign_clear, __uint_as_float(__float_as_uint(x) & 0x7fffffffu))
KERNEL(neg_then_shuffle, __shfl_xor_sync(0xffffffffu, -x, 0))
KERNEL(select_, (i & 1) ? x : y)
KERNEL(select_neg, (i & 1) ? -x : y)
KERNEL(select_abs, (i & 1) ? fabsf(x) : y)
KERNEL(copysign_, copysignf(x, y))
KERNEL(add_negative_zero, __fadd_rn(x, -0.0f))
KERNEL(add_zero, __fadd_rn(x, 0.0f))
KERNEL(mul_one, __fmul_rn(x, 1.0f))
KERNEL(neg_mul, __fmul_rn(-x, y))
KERNEL(sub, __fsub_rn(x, y))
KERNEL(fma_neg, __fmaf_rn(-x, y, x))
KERNEL(max_plain, x < y ? y : x)
KERNEL(fmaxf_, fmaxf(x, y))
KERNEL(fminf_, fminf(x, y))
KERNEL(sqrt_, __fsqrt_rn(x))
KERNEL(rcp_, __frcp_rn(x))
KERNEL(div_, __fdiv_rn(x, y))
