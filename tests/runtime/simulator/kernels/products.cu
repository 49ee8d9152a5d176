// One instruction step on many tiles, one tile a block: operands as rows of 32 bytes, accumulators as 32-bit words.
static __device__ __forceinline__ unsigned long long ak_wgmma_desc(const void* p, unsigned leading, unsigned stride,
                                                                   unsigned swizzle) {
    return (unsigned long long)((__cvta_generic_to_shared(p) & 0x3ffff) >> 4) |
           (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 |
           (unsigned long long)swizzle << 62;
}

extern __shared__ __align__(1024) unsigned char ak_smem[];

// a: 16 rows, b: 8 rows (columns of the product), d: 16 x 8.
#define STEP(T, CAST, MMA)                                                                                     \
    {                                                                                                          \
        int lane = threadIdx.x, group = lane / 4, part = lane % 4;                                             \
        unsigned ra[4], rb[2];                                                                                 \
        T rd[4];                                                                                               \
        for (int r = 0; r < 4; ++r) {                                                                          \
            ra[r] = ak_ldg_u32(a + blockIdx.x * 128 + (group + r % 2 * 8) * 8 + part + r / 2 * 4);             \
            unsigned at = blockIdx.x * 128 + (group + r / 2 * 8) * 8 + part * 2 + r % 2;                       \
            rd[r] = CAST(ak_ld_u32(d + at));                                                                   \
        }                                                                                                      \
        for (int r = 0; r < 2; ++r) {                                                                          \
            rb[r] = ak_ldg_u32(b + blockIdx.x * 64 + group * 8 + part + r * 4);                                \
        }                                                                                                      \
        MMA(rd, ra, rb);                                                                                       \
        for (int r = 0; r < 4; ++r) {                                                                          \
            unsigned v;                                                                                        \
            __builtin_memcpy(&v, &rd[r], 4);                                                                   \
            ak_st_u32(d + blockIdx.x * 128 + (group + r / 2 * 8) * 8 + part * 2 + r % 2, v);                   \
        }                                                                                                      \
    }
extern "C" __global__ void __launch_bounds__(32, 1) mma_bf16(const unsigned* a, const unsigned* b, unsigned* d)
    STEP(float, __uint_as_float, ak_mma_m16n8k16_f32_bf16)
extern "C" __global__ void __launch_bounds__(32, 1) mma_f16(const unsigned* a, const unsigned* b, unsigned* d)
    STEP(float, __uint_as_float, ak_mma_m16n8k16_f32_f16)
extern "C" __global__ void __launch_bounds__(32, 1) mma_tf32(const unsigned* a, const unsigned* b, unsigned* d)
    STEP(float, __uint_as_float, ak_mma_m16n8k8_f32_tf32)
extern "C" __global__ void __launch_bounds__(32, 1) mma_s8(const unsigned* a, const unsigned* b, unsigned* d)
    STEP(int, (int), ak_mma_m16n8k32_s32_s8)
extern "C" __global__ void __launch_bounds__(32, 1) mma_u8(const unsigned* a, const unsigned* b, unsigned* d)
    STEP(int, (int), ak_mma_m16n8k32_s32_u8)

// a: 64 rows, b: 8 rows, d: 64 x 8; both operands in shared memory without a swizzle.
#define WGMMA_STEP(PRODUCT)                                                                                    \
    {                                                                                                          \
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, part = lane % 4;                  \
        for (int i = threadIdx.x; i < 72 * 8; i += 128) {                                                      \
            int r = i / 8, w = i % 8;                                                                          \
            unsigned v = r < 64 ? ak_ldg_u32(a + blockIdx.x * 512 + i) : ak_ldg_u32(b + blockIdx.x * 64 + i - 512); \
            ak_sts_u32(ak_smem + r / 8 * 256 + w / 4 * 128 + r % 8 * 16 + w % 4 * 4, v);                       \
        }                                                                                                      \
        float rd[4];                                                                                           \
        for (int r = 0; r < 4; ++r) {                                                                          \
            rd[r] = __uint_as_float(ak_ld_u32(d + blockIdx.x * 512 + (row + r / 2 * 8) * 8 + part * 2 + r % 2)); \
        }                                                                                                      \
        ak_fence_proxy_async();                                                                                \
        __syncthreads();                                                                                       \
        ak_wgmma_fence();                                                                                      \
        PRODUCT(rd, ak_wgmma_desc(ak_smem, 128, 256, 0), ak_wgmma_desc(ak_smem + 2048, 128, 256, 0), 1);       \
        ak_wgmma_commit();                                                                                     \
        ak_wgmma_wait_0();                                                                                     \
        for (int r = 0; r < 4; ++r) {                                                                          \
            ak_st_u32(d + blockIdx.x * 512 + (row + r / 2 * 8) * 8 + part * 2 + r % 2, __float_as_uint(rd[r])); \
        }                                                                                                      \
    }
extern "C" __global__ void __launch_bounds__(128, 1) wgmma_e4m3_e4m3(const unsigned* a, const unsigned* b, unsigned* d)
    WGMMA_STEP(ak_wgmma_m64n8k32_f32_e4m3_e4m3_ss)
extern "C" __global__ void __launch_bounds__(128, 1) wgmma_e5m2_e5m2(const unsigned* a, const unsigned* b, unsigned* d)
    WGMMA_STEP(ak_wgmma_m64n8k32_f32_e5m2_e5m2_ss)
extern "C" __global__ void __launch_bounds__(128, 1) wgmma_e4m3_e5m2(const unsigned* a, const unsigned* b, unsigned* d)
    WGMMA_STEP(ak_wgmma_m64n8k32_f32_e4m3_e5m2_ss)
extern "C" __global__ void __launch_bounds__(128, 1) wgmma_bf16_bf16(const unsigned* a, const unsigned* b, unsigned* d)
    WGMMA_STEP(ak_wgmma_m64n8k16_f32_bf16_ss)
