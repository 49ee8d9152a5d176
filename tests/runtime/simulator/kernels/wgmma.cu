// One product of a warpgroup pair: a producer warp copies stages by TMA, two warpgroups multiply, the
// epilogue goes through shared memory and TMA stores. `fault` selects one defect; `// @name` marks a line.
static __device__ __forceinline__ unsigned long long ak_wgmma_desc(const void* p, unsigned leading, unsigned stride,
                                                                   unsigned swizzle) {
    return (unsigned long long)((__cvta_generic_to_shared(p) & 0x3ffff) >> 4) |
           (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 |
           (unsigned long long)swizzle << 62;
}

extern __shared__ __align__(1024) unsigned char ak_smem[];

// From BY_PROXY_FENCE on: not faults but near-misses.
enum {
    NO_FAULT, NO_PROXY_FENCE, WRONG_PARITY, SHORT_BYTES, WRONG_SWIZZLE, WRONG_STRIDE, EARLY_OVERWRITE, NO_COMMIT,
    NO_WAIT, NO_ARRIVE, NO_INIT_FENCE, TOUCHED, NO_REGISTER_FENCE, NO_STORE_COMMIT, NO_STORE_WAIT, LONG_BYTES,
    NO_FULL_WAIT, NO_EPILOGUE_BARRIER, EARLY_READ, EARLY_RELEASE, TOO_MANY_REGISTERS, BASE_OFFSET,
    OUTSIDE, BY_PROXY_FENCE, SPINNING,
};

// d[128][256] = a[128][k] b[256][k]^T in bf16. Stage: a 128 x 64 (16 KiB), b 256 x 64 (32 KiB), twice; then barriers.
extern "C" __global__ void __launch_bounds__(384, 1) multiply(const __grid_constant__ AkTensorMap map_a,
                                                              const __grid_constant__ AkTensorMap map_b,
                                                              const __grid_constant__ AkTensorMap map_d,
                                                              long long k, int fault) {
    unsigned char* full = ak_smem + 98304;
    unsigned char* empty = full + 16;
    int steps = (int)((k + 63) / 64);
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; ++s) {
            ak_mbarrier_init(full + 8 * s, 1);   // @init
            ak_mbarrier_init(empty + 8 * s, 2);
        }
        if (fault == BY_PROXY_FENCE) {
            ak_fence_proxy_async();
        } else if (fault != NO_INIT_FENCE) {
            ak_mbarrier_fence_init();
        }
    }
    __syncthreads();
    if (threadIdx.x >= 256) {
        ak_setmaxnreg_dec_40();
        if (threadIdx.x == 256) {
            for (int i = 0; i < steps; ++i) {
                int s = i % 2, round = i / 2;
                unsigned char* stage = ak_smem + 49152 * s;
                if (fault != EARLY_OVERWRITE) {
                    ak_mbarrier_wait(empty + 8 * s, (round & 1) ^ 1 ^ (fault == WRONG_PARITY));  // @wait_empty
                }
                unsigned bytes = fault == SHORT_BYTES ? 32768 : fault == LONG_BYTES ? 65536 : 49152;
                ak_mbarrier_arrive_expect_tx(full + 8 * s, bytes);
                ak_tma_load_2d(stage, &map_a, full + 8 * s, i * 64, 0);          // @load_a
                ak_tma_load_2d(stage + 16384, &map_b, full + 8 * s, i * 64, 0);  // @load_b
            }
        }
        return;
    }
    if (fault == TOO_MANY_REGISTERS) {
        ak_setmaxnreg_inc_240();  // @registers
    } else {
        ak_setmaxnreg_inc_232();
    }
    int group = threadIdx.x / 128;
    float d[128];
    for (int i = 0; i < 128; ++i) {
        d[i] = 0.0f;
    }
    for (int i = 0; i < steps; ++i) {
        int s = i % 2, round = i / 2;
        unsigned char* stage = ak_smem + 49152 * s;
        if (fault == SPINNING) {
            while (!ak_mbarrier_try_wait(full + 8 * s, round & 1)) {
            }
        } else if (fault != NO_FULL_WAIT) {
            ak_mbarrier_wait(full + 8 * s, round & 1);  // @wait_full
        }
        if (fault == EARLY_RELEASE && threadIdx.x % 128 == 0) {
            ak_mbarrier_arrive(empty + 8 * s);
        }
        if (fault == NO_REGISTER_FENCE && i == 1) {
            d[5] = 1.0f;
        }
        if (fault != NO_REGISTER_FENCE || i == 0) {
            ak_wgmma_fence();
        }
        for (int step = 0; step < 4; ++step) {
            unsigned long long a = ak_wgmma_desc(stage + 8192 * group + 32 * step, 16, 1024, 1);
            unsigned long long b =
                ak_wgmma_desc(stage + 16384 + 32 * step, 16, fault == WRONG_STRIDE ? 2048 : 1024, fault == WRONG_SWIZZLE ? 2 : 1);
            a |= fault == BASE_OFFSET ? 1ull << 49 : 0;
            a += fault == OUTSIDE ? 131072 >> 4 : 0;
            ak_wgmma_m64n256k16_f32_bf16_ss(d, a, b, i + step != 0);  // @product
        }
        if (fault != NO_COMMIT) {
            ak_wgmma_commit();
        }
        if (fault == TOUCHED && i == 1) {
            d[3] = d[3] + 1.0f;
        }
        if (fault == EARLY_READ) {
            ak_wgmma_wait_1();
        } else if (fault != NO_WAIT) {
            ak_wgmma_wait_0();
        }
        if (fault != EARLY_RELEASE && threadIdx.x % 128 == 0 && !(fault == NO_ARRIVE && i == 1 && group == 0)) {
            ak_mbarrier_arrive(empty + 8 * s);  // @release
        }
    }
    // the first stage holds the result: 64 columns x 128 rows, four times, swizzled by 128 bytes
    if (fault != NO_EPILOGUE_BARRIER) {
        ak_bar_sync(1, 256);
    }
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int i = 0; i < 128; i += 2) {
        int r = row + (i / 2 % 2) * 8, column = i / 4 * 8 + lane % 4 * 2;
        unsigned at = (unsigned)(r * 128 + column % 64 * 2);
        at ^= (at >> 7 & 7) << 4;
        ak_sts_u32(ak_smem + column / 64 * 16384 + at, ak_cvt_bf16x2_f32(d[i + 1], d[i]));  // @epilogue
    }
    if (fault != NO_PROXY_FENCE) {
        ak_fence_proxy_async();
    }
    ak_bar_sync(1, 256);
    if (threadIdx.x == 0) {
        for (int c = 0; c < 4; ++c) {
            ak_tma_store_2d(&map_d, ak_smem + 16384 * c, 64 * c, 0);  // @store
        }
        if (fault != NO_STORE_COMMIT) {
            ak_bulk_commit();
        }
        if (fault != NO_STORE_WAIT) {
            ak_bulk_wait_read_0();
        }
    }
}
