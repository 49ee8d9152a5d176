// What the self-test runs: every f32 operation over special operands, every conversion over many.
// The result columns are named in selftest.py, in this order.

#define PUT(value) ak_st_u32(out + at++, (value))
#define PUT_F32(value) PUT(__float_as_uint(value))

extern "C" __global__ void __launch_bounds__(32, 1) self_test_arithmetic(const unsigned* operands, unsigned* out,
                                                                         long long count) {
    for (long long i = threadIdx.x; i < count; i += 32) {
        float a = __uint_as_float(ak_ldg_u32(operands + 3 * i));
        float b = __uint_as_float(ak_ldg_u32(operands + 3 * i + 1));
        float c = __uint_as_float(ak_ldg_u32(operands + 3 * i + 2));
        long long at = i * 15;
        PUT_F32(__fadd_rn(a, b));
        PUT_F32(__fsub_rn(a, b));
        PUT_F32(__fmul_rn(a, b));
        PUT_F32(__fdiv_rn(a, b));
        PUT_F32(__fsqrt_rn(a));
        PUT_F32(__fmaf_rn(a, b, c));
        // what an optimiser is tempted to fuse
        PUT_F32(-__fmaf_rn(a, b, c));
        PUT_F32(__fmaf_rn(-a, b, c));
        PUT_F32(__fmaf_rn(a, b, -c));
        PUT_F32(__fadd_rn(__fmul_rn(a, b), c));
        PUT_F32(__fsub_rn(c, __fmul_rn(a, b)));
        PUT_F32(__fadd_rn(-a, b));
        PUT_F32(-__fmul_rn(-a, b));
        PUT_F32(ak_max_nan_f32(a, b));
        PUT_F32(ak_min_nan_f32(a, b));
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) self_test_from_f32(const unsigned* operands, unsigned* out,
                                                                       long long count) {
    for (long long i = threadIdx.x; i < count; i += 32) {
        float v = __uint_as_float(ak_ldg_u32(operands + i));
        long long at = i * 7;
        PUT(ak_cvt_bf16_f32(v));
        PUT(ak_cvt_f16_f32(v));
        PUT(ak_cvt_e4m3x2_f32(v, 1.0f) >> 8);
        PUT(ak_cvt_e5m2x2_f32(v, 1.0f) >> 8);
        PUT((unsigned)ak_cvt_i32_f32(v));
        unsigned long long wide = (unsigned long long)ak_cvt_i64_f32(v);
        PUT((unsigned)wide);
        PUT((unsigned)(wide >> 32));
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) self_test_from_codes(unsigned* out) {
    for (unsigned code = threadIdx.x; code < 65536u; code += 32) {
        long long at = code * 3ll;
        PUT_F32(ak_cvt_f32_f16((unsigned short)code));
        PUT(ak_cvt_f16x2_e4m3x2((unsigned short)code));
        PUT(ak_cvt_f16x2_e5m2x2((unsigned short)code));
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) self_test_from_integers(const unsigned long long* operands,
                                                                            unsigned* out, long long count) {
    for (long long i = threadIdx.x; i < count; i += 32) {
        long long v = (long long)ak_ldg_u64(operands + i), at = i * 2;
        PUT_F32(ak_cvt_f32_i32((int)v));
        PUT_F32(ak_cvt_f32_i64(v));
    }
}
