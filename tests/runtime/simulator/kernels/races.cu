// Races between threads and between blocks, each beside its near-miss. `// @name` marks a line that a report must name.

// Neighbours exchange through shared memory; `barrier` 0 leaves the barrier out.
extern "C" __global__ void __launch_bounds__(128, 1) exchange(unsigned* out, long long barrier) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    ak_sts_u32(ak_smem + 4 * t, t * 3u);  // @exchange_write
    if (barrier) {
        __syncthreads();
    }
    ak_st_u32(out + t, ak_lds_u32(ak_smem + 4 * ((t + 64) % 128)));  // @exchange_read
}

// Two rounds through one slot each; `barrier` 0 leaves out the one that protects the readers of round one.
extern "C" __global__ void __launch_bounds__(64, 1) reuse(unsigned* out, long long barrier) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < 2; ++round) {
        ak_sts_u32(ak_smem + 4 * t, t + 1000u * round);  // @reuse_write
        __syncthreads();
        sum += ak_lds_u32(ak_smem + 4 * (63 - t));  // @reuse_read
        if (barrier) {
            __syncthreads();
        }
    }
    ak_st_u32(out + t, sum);
}

// Lanes of one warp exchange with __syncwarp only; `distance` 32 crosses into the other warp.
extern "C" __global__ void __launch_bounds__(64, 1) warp_exchange(unsigned* out, long long distance,
                                                                  long long sync) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    ak_sts_u32(ak_smem + 4 * t, t * 5u);
    if (sync) {
        __syncwarp();
    }
    ak_st_u32(out + t, ak_lds_u32(ak_smem + 4 * (t ^ (int)distance)));  // @warp_exchange_read
}

// Halves of a warp synchronise apart; `distance` 16 reads the other half.
extern "C" __global__ void __launch_bounds__(32, 1) half_warps(unsigned* out, long long distance) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    ak_sts_u32(ak_smem + 4 * t, t * 7u);
    __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
    ak_st_u32(out + t, ak_lds_u32(ak_smem + 4 * (t ^ (int)distance)));  // @half_warps_read
}

// All threads read one word, then thread 40 writes it.
extern "C" __global__ void __launch_bounds__(64, 1) read_then_write(unsigned* out, long long barrier) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    if (t == 0) {
        ak_sts_u32(ak_smem, 9u);
    }
    __syncthreads();
    ak_st_u32(out + t, ak_lds_u32(ak_smem));
    if (barrier) {
        __syncthreads();
    }
    if (t == 40) {
        ak_sts_u32(ak_smem, 10u);  // @read_then_write
    }
}

// Blocks write tiles `stride` apart; less than 32 words overlap.
extern "C" __global__ void __launch_bounds__(32, 1) block_tiles(unsigned* out, long long stride) {
    ak_st_u32(out + blockIdx.x * stride + threadIdx.x, blockIdx.x);  // @block_tiles
}

// Every block reads word `word` of a buffer and block 2 writes word 0 of it.
extern "C" __global__ void __launch_bounds__(32, 1) block_flag(unsigned* flags, unsigned* out, long long word) {
    if (threadIdx.x == 0) {
        ak_st_u32(out + blockIdx.x, ak_ld_u32(flags + word));  // @block_flag_read
        if (blockIdx.x == 2) {
            ak_st_u32(flags, 1u);  // @block_flag_write
        }
    }
}

// Threads write neighbouring bytes of one word, thread 0 reads `width` of them after it wrote its own.
extern "C" __global__ void __launch_bounds__(32, 1) neighbour_bytes(unsigned char* out, long long width) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    ak_sts_u8(ak_smem + t, (unsigned char)t);
    if (t == 0) {
        unsigned v = width == 1 ? ak_lds_u8(ak_smem) : ak_lds_u16(ak_smem);  // @neighbour_bytes_read
        ak_st_u8(out, (unsigned char)v);
    }
}

// A global word handed from thread 0 to thread 33 of the block.
extern "C" __global__ void __launch_bounds__(64, 1) global_handover(unsigned* scratch, unsigned* out,
                                                                    long long barrier) {
    if (threadIdx.x == 0) {
        ak_st_u32(scratch + blockIdx.x, 77u);
    }
    if (barrier) {
        __syncthreads();
    }
    if (threadIdx.x == 33) {
        ak_st_u32(out + blockIdx.x, ak_ld_u32(scratch + blockIdx.x));  // @global_handover_read
    }
}

// All lanes read one word and shuffle, which orders no memory; then lane 0 writes it, after __syncwarp if `sync`.
extern "C" __global__ void __launch_bounds__(32, 1) shuffle_orders_nothing(unsigned* word, unsigned* out,
                                                                           long long sync) {
    unsigned v = ak_ld_u32(word);
    v = __shfl_xor_sync(0xffffffffu, v, 1);
    if (sync) {
        __syncwarp();
    }
    if (threadIdx.x == 0) {
        ak_st_u32(word, v);  // @shuffle_orders_nothing
    }
    ak_st_u32(out + threadIdx.x, v);
}
