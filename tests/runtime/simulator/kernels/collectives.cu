// Every warp operation and block vote; the results go to `out` for comparison with NumPy.

extern "C" __global__ void __launch_bounds__(64, 1) shuffles(const unsigned* x, unsigned* out, long long amount,
                                                             long long width) {
    unsigned v = ak_ldg_u32(x + threadIdx.x);
    int n = (int)amount, w = (int)width;
    ak_st_u32(out + 0 * 64 + threadIdx.x, __shfl_sync(0xffffffffu, v, n, w));
    ak_st_u32(out + 1 * 64 + threadIdx.x, __shfl_up_sync(0xffffffffu, v, n, w));
    ak_st_u32(out + 2 * 64 + threadIdx.x, __shfl_down_sync(0xffffffffu, v, n, w));
    ak_st_u32(out + 3 * 64 + threadIdx.x, __shfl_xor_sync(0xffffffffu, v, n, w));
}

extern "C" __global__ void __launch_bounds__(32, 1) shuffle_types(unsigned long long* out) {
    int t = threadIdx.x;
    float f = __shfl_xor_sync(0xffffffffu, -(float)t, 1);
    double d = __shfl_xor_sync(0xffffffffu, 0.5 * t, 2);
    int i = __shfl_down_sync(0xffffffffu, -t, 1);
    long long l = __shfl_up_sync(0xffffffffu, -((long long)t << 40), 1);
    unsigned long long u = __shfl_sync(0xffffffffu, 0xff00000000000000ull + t, 31);
    ak_st_u64(out + 0 * 32 + t, __float_as_uint(f));
    ak_st_u64(out + 1 * 32 + t, (unsigned long long)__double_as_longlong(d));
    ak_st_u64(out + 2 * 32 + t, (unsigned)i);
    ak_st_u64(out + 3 * 32 + t, (unsigned long long)l);
    ak_st_u64(out + 4 * 32 + t, u);
}

extern "C" __global__ void __launch_bounds__(64, 1) votes(const unsigned* x, unsigned* out) {
    int p = (int)ak_ldg_u32(x + threadIdx.x);
    ak_st_u32(out + 0 * 64 + threadIdx.x, __ballot_sync(0xffffffffu, p));
    ak_st_u32(out + 1 * 64 + threadIdx.x, __any_sync(0xffffffffu, p));
    ak_st_u32(out + 2 * 64 + threadIdx.x, __all_sync(0xffffffffu, p));
    ak_st_u32(out + 3 * 64 + threadIdx.x, __syncthreads_or(p));
    ak_st_u32(out + 4 * 64 + threadIdx.x, __syncthreads_and(p));
    ak_st_u32(out + 5 * 64 + threadIdx.x, __syncthreads_count(p));
}

extern "C" __global__ void __launch_bounds__(32, 1) integers(const unsigned* a, const unsigned* b, unsigned* out,
                                                             long long count) {
    for (long long i = threadIdx.x; i < count; i += 32) {
        unsigned x = ak_ldg_u32(a + i), y = ak_ldg_u32(b + i);
        unsigned long long wide = (unsigned long long)x << 32 | y, other = (unsigned long long)y << 32 | x;
        unsigned long long high = __umul64hi(wide, other);
        unsigned results[] = {
            (unsigned)__clz((int)x), (unsigned)__popc(x),  (unsigned)__ffs((int)x),        __umulhi(x, y),
            (unsigned)__mulhi((int)x, (int)y), min(x, y), (unsigned)max((int)x, (int)y), __brev(x),
            (unsigned)high, (unsigned)(high >> 32), (unsigned)__clzll((long long)wide), __byte_perm(x, y, 0x6240u),
        };
        for (int k = 0; k < 12; ++k) {
            ak_st_u32(out + i * 12 + k, results[k]);
        }
    }
}

// Writes the order in which blocks and threads ran: each takes the next ticket (a benign use of the serial engine).
extern "C" __global__ void __launch_bounds__(64, 1) tickets(unsigned* counter, unsigned* out) {
    unsigned ticket = ak_ld_u32(counter);
    ak_st_u32(counter, ticket + 1u);
    ak_st_u32(out + ticket, blockIdx.x * 64 + threadIdx.x);
}
