// A cluster of two blocks: each loads half of a tile into both, both take it out. `fault` selects one defect; from
// REMOTE_BY_ADDRESS on they are near-misses. `// @name` marks a line.
extern __shared__ __align__(1024) unsigned char ak_smem[];

enum {
    NO_FAULT, NO_CLUSTER_BARRIER, WRONG_MASK, NO_REMOTE_ARRIVE, WRONG_BLOCK, EARLY_END, NO_EMPTY_WAIT, HALF_BYTES,
    WAIT_BEFORE_ARRIVE, NO_CLUSTER_WAIT, REMOTE_BY_ADDRESS,
};

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64, 1)
    multicast(const __grid_constant__ AkTensorMap map, unsigned* out, int tiles, int fault) {
    unsigned rank = ak_cluster_rank();
    unsigned char* full = ak_smem + 4096;
    unsigned char* empty = full + 8;
    if (threadIdx.x == 0) {
        ak_mbarrier_init(full, 1);
        ak_mbarrier_init(empty, 2);  // one thread of each block
        ak_mbarrier_fence_init();
    }
    if (fault == WAIT_BEFORE_ARRIVE) {
        ak_cluster_wait();  // @wait_first
    }
    if (fault == NO_CLUSTER_BARRIER) {
        __syncthreads();
    } else {
        ak_cluster_arrive();
        if (fault != NO_CLUSTER_WAIT) {
            ak_cluster_wait();
        }
    }
    for (int i = 0; i < tiles; ++i) {
        if (threadIdx.x == 0) {
            if (fault != NO_EMPTY_WAIT) {
                ak_mbarrier_wait(empty, (i & 1) ^ 1);  // @wait_empty
            }
            ak_mbarrier_arrive_expect_tx(full, fault == HALF_BYTES ? 2048 : 4096);
            unsigned short mask = fault == WRONG_MASK ? 6 : fault == HALF_BYTES ? (unsigned short)(1 << rank) : 3;
            ak_tma_load_2d_multicast(ak_smem + 2048 * rank, &map, full, mask, 0, 16 * i + 8 * rank);  // @multicast
        }
        ak_mbarrier_wait(full, i & 1);  // @wait_full
        for (int row = 0; row < 16; ++row) {
            unsigned v = ak_lds_u32(ak_smem + row * 256 + threadIdx.x * 4);  // @take
            ak_st_u32(out + ((16 * i + row) * 2 + rank) * 64 + threadIdx.x, v);
        }
        __syncthreads();
        if (threadIdx.x < 2) {
            if (fault == REMOTE_BY_ADDRESS) {
                ak_mbarrier_arrive(ak_mapa(empty, threadIdx.x));
            } else if (fault != NO_REMOTE_ARRIVE || threadIdx.x == rank) {
                ak_mbarrier_arrive_remote(empty, fault == WRONG_BLOCK ? 2 : threadIdx.x);  // @release
            }
        }
    }
    if (fault != EARLY_END) {
        ak_cluster_arrive();
        ak_cluster_wait();
    }
}

// Reads a word of the other block, written before or after the cluster's barrier.
extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32, 1) exchange(unsigned* out, int late) {
    unsigned rank = ak_cluster_rank();
    if (!late) {
        ak_sts_u32(ak_smem + threadIdx.x * 4, 100 * rank + threadIdx.x);
    }
    ak_cluster_arrive();
    ak_cluster_wait();
    if (late) {
        ak_sts_u32(ak_smem + threadIdx.x * 4, 100 * rank + threadIdx.x);  // @late
    }
    unsigned v = ak_lds_cluster_u32(ak_mapa(ak_smem + threadIdx.x * 4, rank ^ 1));  // @remote
    ak_st_u32(out + blockIdx.x * 32 + threadIdx.x, v);
    ak_cluster_arrive();
    ak_cluster_wait();
}

// Two warps meet two others at a named barrier: `counted` threads are named.
extern "C" __global__ void __launch_bounds__(128, 1) named(unsigned* out, int counted, int id, int twice) {
    if (threadIdx.x < 64) {
        ak_sts_u32(ak_smem + threadIdx.x * 4, threadIdx.x);
        ak_bar_arrive(id, counted);  // @arrive
        if (twice) {
            ak_bar_arrive(id, counted);  // @arrive_again
        }
    } else {
        ak_bar_sync(id, counted);  // @sync
        ak_st_u32(out + threadIdx.x - 64, ak_lds_u32(ak_smem + (threadIdx.x - 64) * 4));  // @read
    }
}

// One warp hands two words to another through one place; `answered` it waits until the first has been taken.
extern "C" __global__ void __launch_bounds__(64, 1) relay(unsigned* out, int answered) {
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x < 32) {
            if (answered && i == 1) {
                ak_bar_sync(2, 64);
            }
            ak_sts_u32(ak_smem + 128 * i + threadIdx.x * 4, threadIdx.x + i);
            ak_bar_arrive(1, 64);  // @hand
        } else {
            ak_bar_sync(1, 64);  // @meet
            ak_st_u32(out + 32 * i + threadIdx.x - 32, ak_lds_u32(ak_smem + 128 * i + (threadIdx.x - 32) * 4));
            if (answered && i == 0) {
                ak_bar_arrive(2, 64);
            }
        }
    }
}

// One warp group takes registers that another gives up, or not.
extern "C" __global__ void __launch_bounds__(256, 1) registers(unsigned* out, int given, int wrong) {
    if (threadIdx.x < 128) {
        if (wrong) {
            if (wrong == 1) {
                ak_setmaxnreg_dec_264();  // @wrong
            } else {
                ak_setmaxnreg_dec_256();  // @kept
            }
        } else if (given) {
            ak_setmaxnreg_dec_240();
        }
    } else {
        ak_setmaxnreg_inc_256();  // @more
    }
    ak_st_u32(out + threadIdx.x, 1u);
}

// One thread of each warp.
extern "C" __global__ void __launch_bounds__(64, 1) elect(unsigned* out) {
    if (ak_elect_one()) {
        ak_st_u32(out + threadIdx.x / 32, 1 + threadIdx.x);
    }
}
