// A warp multiplies 16 x k by 8 x k transposed, two buffers filled by cp.async, fragments by ldmatrix. `fault` selects
// one defect; from WAITED_BY_BARRIER on they are near-misses. `// @name` marks a line.
extern __shared__ __align__(1024) unsigned char ak_smem[];

enum {
    NO_FAULT, NO_WAIT, WAIT_FOR_FEWER, NO_SYNC, EARLY_OVERWRITE, NO_COMMIT, MISALIGNED_ROW, OUTSIDE_ROW, LEFT_BEHIND,
    UNALIGNED_SOURCE, TOO_MANY_SOURCE_BYTES, PAST_THE_END, SHORT_ROW,
};

extern "C" __global__ void __launch_bounds__(32, 1) multiply(const unsigned short* a, const unsigned short* b, float* d,
                                                             int k, int fault) {
    int lane = threadIdx.x, steps = k / 16;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = -1; i < steps; ++i) {
        int next = i + 1;
        if (next < steps) {
            unsigned char* to = ak_smem + next % 2 * 768;
            const unsigned short* from = a + (lane / 2) * k + 16 * next + lane % 2 * 8;
            if (fault == UNALIGNED_SOURCE) {
                ak_cp_async_16_zfill(to + lane * 16, from + 1, 16);  // @unaligned
            } else if (fault == TOO_MANY_SOURCE_BYTES) {
                ak_cp_async_16_zfill(to + lane * 16, from, 32);  // @too_many
            } else {
                ak_cp_async_16(to + lane * 16, from);  // @copy_a
            }
            if (lane < 16) {
                const unsigned short* row = b + (lane / 2) * k + 16 * next + lane % 2 * 8;
                row += fault == PAST_THE_END && lane == 15 && next == steps - 1 ? 8 : 0;
                ak_cp_async_16_zfill(to + 512 + lane * 16, row, fault == SHORT_ROW && lane / 2 == 7 ? 0 : 16);  // @copy_b
            }
            if (fault != NO_COMMIT) {
                ak_cp_async_commit();
            }
        }
        if (i < 0) {
            continue;
        }
        unsigned char* stage = ak_smem + i % 2 * 768;
        if (next < steps && fault != WAIT_FOR_FEWER) {
            ak_cp_async_wait_1();
        } else if (fault == WAIT_FOR_FEWER) {
            ak_cp_async_wait_2();
        } else if (fault != LEFT_BEHIND) {
            ak_cp_async_wait_0();
        }
        if (fault != NO_SYNC) {
            __syncwarp();
        }
        unsigned ra[4], rb[2];
        unsigned char* row_a = stage + lane % 16 * 32 + lane / 16 * 16;
        unsigned char* row_b = stage + 512 + lane % 8 * 32 + lane / 8 % 2 * 16;
        row_a += fault == MISALIGNED_ROW && lane == 3 ? 8 : fault == OUTSIDE_ROW && lane == 3 ? 4096 : 0;
        ak_ldmatrix_x4(ra, row_a);  // @ldmatrix_a
        ak_ldmatrix_x2(rb, row_b);  // @ldmatrix_b
        ak_mma_m16n8k16_f32_bf16(sum, ra, rb);
        if (fault != EARLY_OVERWRITE) {
            __syncwarp();
        }
    }
    for (int r = 0; r < 4; ++r) {
        ak_st_u32(d + (lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2, __float_as_uint(sum[r]));
    }
}

// A tile through stmatrix and back, transposed on the way if asked; `absent` lanes do not take part.
extern "C" __global__ void __launch_bounds__(32, 1) transpose(const unsigned* in, unsigned* out, int absent) {
    unsigned r[4], q[4];
    for (int i = 0; i < 4; ++i) {
        r[i] = ak_ldg_u32(in + threadIdx.x * 4 + i);
    }
    if (threadIdx.x >= 32 - absent) {
        return;
    }
    ak_stmatrix_x4_trans(ak_smem + threadIdx.x * 16, r);  // @stmatrix
    __syncwarp();
    ak_ldmatrix_x4(q, ak_smem + threadIdx.x * 16);
    for (int i = 0; i < 4; ++i) {
        ak_st_u32(out + threadIdx.x * 4 + i, q[i]);
    }
}

// cp.async that reports to an mbarrier, read by another warp.
enum { ARRIVE_RIGHT, ARRIVE_BEFORE_COPY, ARRIVE_COUNTED_TWICE };
extern "C" __global__ void __launch_bounds__(64, 1) arrive(const unsigned* in, unsigned* out, int fault) {
    unsigned char* bar = ak_smem + 128;
    if (threadIdx.x == 0) {
        ak_mbarrier_init(bar, fault == ARRIVE_COUNTED_TWICE ? 64 : 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (fault == ARRIVE_BEFORE_COPY) {
            ak_cp_async_mbarrier_arrive(bar);
        }
        ak_cp_async_4(ak_smem + threadIdx.x * 4, in + threadIdx.x);  // @copy
        if (fault != ARRIVE_BEFORE_COPY) {
            ak_cp_async_mbarrier_arrive(bar);
        }
        return;
    }
    ak_mbarrier_wait(bar, 0);  // @wait
    ak_st_u32(out + threadIdx.x - 32, ak_lds_u32(ak_smem + (threadIdx.x - 32) * 4));  // @read
}
