// A ring of three stages: a producer warp copies boxes of 8 x 64 words by TMA, two warps take them out. `fault`
// selects one defect; from FENCED_BY_PROXY on they are near-misses. `// @name` marks a line.
extern __shared__ __align__(1024) unsigned char ak_smem[];

enum {
    NO_FAULT, NO_INIT, INIT_NOT_SHARED, NO_INIT_FENCE, NO_EMPTY_WAIT, EMPTY_PHASE, FULL_PHASE, NO_FULL_WAIT, SHORT_BYTES,
    LONG_BYTES, NO_EXPECT, NO_RELEASE, RELEASE_TWICE, EARLY_RELEASE, INIT_TWICE, ZERO_COUNT, COUNT_TOO_HIGH, WRITE_BARRIER,
    MISALIGNED, OUTSIDE, NOT_A_MAP, WRONG_RANK, MISPLACED_BARRIER, LAST_NOT_WAITED, ODD_BYTES, PLAIN_NOT_FENCED,
    FENCED_BY_PROXY, POLLED, INVALIDATED, OUT_OF_TENSOR, PLAIN_FENCED, STORED_LATE,
};

extern "C" __global__ void __launch_bounds__(96, 1) ring(const __grid_constant__ AkTensorMap map, const unsigned* x,
                                                         unsigned* out, int tiles, int fault) {
    unsigned char* full = ak_smem + 6144;
    unsigned char* empty = full + 24;
    if (threadIdx.x == 64 && fault != NO_INIT) {
        for (int s = 0; s < 3; ++s) {
            ak_mbarrier_init(full + 8 * s, fault == ZERO_COUNT ? 0 : 1);                             // @init
            ak_mbarrier_init(empty + 8 * s, fault == COUNT_TOO_HIGH ? 65 : 64);
        }
        if (fault == INIT_TWICE || fault == INVALIDATED) {
            if (fault == INVALIDATED) {
                ak_mbarrier_invalidate(full);
            }
            ak_mbarrier_init(full, 1);  // @init_again
        }
        if (fault == FENCED_BY_PROXY) {
            ak_fence_proxy_async();
        } else if (fault != NO_INIT_FENCE) {
            ak_mbarrier_fence_init();
        }
    }
    if (fault != INIT_NOT_SHARED) {
        __syncthreads();
    }
    if (threadIdx.x >= 64) {
        if (threadIdx.x != 64) {
            return;
        }
        for (int i = 0; i < tiles; ++i) {
            int s = i % 3, round = i / 3;
            unsigned char* stage = ak_smem + 2048 * s;
            if (fault != NO_EMPTY_WAIT) {
                ak_mbarrier_wait(empty + 8 * s, (round & 1) ^ (fault != EMPTY_PHASE));  // @wait_empty
            }
            if (i == 0 && (fault == PLAIN_NOT_FENCED || fault == PLAIN_FENCED)) {
                ak_sts_u32(stage, 5u);  // @plain
                if (fault == PLAIN_FENCED) {
                    ak_fence_proxy_async();
                }
            }
            unsigned bytes = fault == SHORT_BYTES ? 1024 : fault == LONG_BYTES ? 4096 : 2048;
            if (fault == NO_EXPECT) {
                ak_mbarrier_arrive(full + 8 * s);
            } else {
                ak_mbarrier_arrive_expect_tx(full + 8 * s, bytes);  // @expect
            }
            if (fault == WRONG_RANK) {
                ak_tma_load_3d(stage, &map, full + 8 * s, 0, 8 * i, 0);  // @wrong_rank
            } else if (fault == ODD_BYTES) {
                ak_bulk_load(stage, x + 512 * i, 2040, full + 8 * s);  // @odd_bytes
            } else if (i % 2) {
                ak_bulk_load(stage, x + 512 * i, 2048, full + 8 * s);  // @bulk
            } else {
                int row = fault == OUT_OF_TENSOR && i == 2 ? 8 * tiles - 3 : 8 * i;
                void* to = stage + (fault == MISALIGNED ? 16 : fault == OUTSIDE ? 65536 : 0);
                void* bar = full + 8 * s + (fault == MISPLACED_BARRIER ? 4 : 0);
                ak_tma_load_2d(to, fault == NOT_A_MAP ? (const AkTensorMap*)full : &map, bar, 0, row);  // @tma
            }
        }
        return;
    }
    int wanted = fault == LAST_NOT_WAITED ? tiles - 1 : tiles;
    for (int i = 0; i < wanted; ++i) {
        int s = i % 3, round = i / 3;
        unsigned char* stage = ak_smem + 2048 * s;
        if (fault == POLLED) {
            while (!ak_mbarrier_try_wait(full + 8 * s, round & 1)) {
            }
        } else if (fault != NO_FULL_WAIT) {
            ak_mbarrier_wait(full + 8 * s, (round & 1) ^ (fault == FULL_PHASE));  // @wait_full
        }
        if (fault == EARLY_RELEASE) {
            ak_mbarrier_arrive(empty + 8 * s);
        }
        for (int row = 0; row < 8; ++row) {
            unsigned v = ak_lds_u32(stage + row * 256 + threadIdx.x * 4);  // @take
            ak_st_u32(out + (8 * i + row) * 64 + threadIdx.x, v);
        }
        if (fault == WRITE_BARRIER && i == 0 && threadIdx.x == 0) {
            ak_sts_u32(empty, 0u);  // @write_barrier
        }
        if (fault != EARLY_RELEASE && !(fault == NO_RELEASE && i == 1 && threadIdx.x == 5)) {
            ak_mbarrier_arrive(empty + 8 * s);  // @release
        }
        if (fault == RELEASE_TWICE && i == 0 && threadIdx.x == 5) {
            ak_mbarrier_arrive(empty + 8 * s);
        }
    }
}

// Through shared memory and out again by asynchronous stores, two buffers.
enum { STORE_RIGHT, STORE_NO_FENCE, STORE_NO_WAIT, STORE_WAIT_FOR_FEWER, STORE_NO_COMMIT, STORE_FENCE_BY_OTHER, STORE_OVERLAP };
extern "C" __global__ void __launch_bounds__(64, 1) store(const __grid_constant__ AkTensorMap map, unsigned* out, int tiles,
                                                          int fault) {
    for (int i = 0; i < tiles; ++i) {
        unsigned char* stage = ak_smem + 2048 * (i % 2);
        if (threadIdx.x == 0 && i >= 2 && fault != STORE_NO_WAIT) {
            if (fault == STORE_WAIT_FOR_FEWER) {
                ak_bulk_wait_read_2();
            } else {
                ak_bulk_wait_read_1();
            }
        }
        __syncthreads();
        for (int row = 0; row < 8; ++row) {
            ak_sts_u32(stage + row * 256 + threadIdx.x * 4, (unsigned)((8 * i + row) * 64 + threadIdx.x));  // @fill
        }
        if (fault == STORE_FENCE_BY_OTHER ? threadIdx.x == 0 : fault != STORE_NO_FENCE) {
            ak_fence_proxy_async();
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            ak_tma_store_2d(&map, stage, 0, fault == STORE_OVERLAP && i == 1 ? 4 : 8 * i);  // @store
            if (fault != STORE_NO_COMMIT) {
                ak_bulk_commit();
            }
        }
    }
    if (threadIdx.x == 0) {
        ak_bulk_wait_0();
    }
}
