// Barriers, warp operations and runaway code, each beside its near-miss. `// @name` marks a line a report must name.

// Threads below `limit` wait, the others return first.
extern "C" __global__ void __launch_bounds__(64, 1) early_return(unsigned* out, long long limit) {
    if (threadIdx.x >= limit) {
        return;
    }
    __syncthreads();  // @early_return
    ak_st_u32(out + threadIdx.x, 1u);
}

// Two branches with a barrier each; `split` 64 sends all threads into the first.
extern "C" __global__ void __launch_bounds__(64, 1) two_barriers(unsigned* out, long long split) {
    if (threadIdx.x < split) {
        __syncthreads();  // @first_barrier
    } else {
        __syncthreads();  // @second_barrier
    }
    ak_st_u32(out + threadIdx.x, 1u);
}

// Warp 0 waits for its lane 3, which waits for the block, which waits for warp 0.
extern "C" __global__ void __launch_bounds__(64, 1) stuck(unsigned* out, long long lane) {
    if (threadIdx.x == lane) {
        __syncthreads();  // @stuck_barrier
    }
    unsigned v = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);  // @stuck_shuffle
    if (threadIdx.x != lane) {
        __syncthreads();  // @stuck_rest
    }
    ak_st_u32(out + threadIdx.x, v);
}

// Lanes from `limit` on return before the shuffle.
extern "C" __global__ void __launch_bounds__(32, 1) lost_lane(unsigned* out, long long limit) {
    if (threadIdx.x >= limit) {
        return;
    }
    ak_st_u32(out + threadIdx.x, __shfl_xor_sync(0xffffffffu, threadIdx.x, 1));  // @lost_lane
}

// Lanes shuffle at two places at once; `split` 32 keeps them together.
extern "C" __global__ void __launch_bounds__(32, 1) two_shuffles(unsigned* out, long long split) {
    unsigned v;
    if (threadIdx.x < split) {
        v = __shfl_sync(0xffffffffu, threadIdx.x, 0);  // @first_shuffle
    } else {
        v = __shfl_sync(0xffffffffu, threadIdx.x, 0);  // @second_shuffle
    }
    ak_st_u32(out + threadIdx.x, v);
}

// The lower half of the warp shuffles from lane `source`.
extern "C" __global__ void __launch_bounds__(32, 1) half_shuffle(unsigned* out, long long source) {
    if (threadIdx.x < 16) {
        unsigned v = __shfl_sync(0x0000ffffu, threadIdx.x + 1u, (int)source);  // @half_shuffle
        ak_st_u32(out + threadIdx.x, v);
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) runaway(unsigned* out, long long which) {
    unsigned v = threadIdx.x;
    if (which == 1) {
        while (ak_ld_u32(out) == 0) {  // @spin
        }
    }
    if (which == 2) {
        for (;;) {
            __asm__ volatile("" : "+r"(v));
        }
    }
    if (which == 3) {
        __trap();  // @trap
    }
    if (which == 4) {
        v = 5u / ak_ld_u32(out);
    }
    ak_st_u32(out + 1 + threadIdx.x, v);
}

__device__ __noinline__ unsigned deeper(unsigned n) {
    volatile unsigned pad[64];
    pad[n % 64] = n;
    return n == 0 ? 0 : deeper(n - 1) + pad[n % 64];
}
extern "C" __global__ void __launch_bounds__(32, 1) large_frame(unsigned* out) {
    volatile unsigned frame[100000];
    frame[threadIdx.x] = 1u;
    ak_st_u32(out + threadIdx.x, frame[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(32, 1) recurse(unsigned* out, long long depth) {
    ak_st_u32(out + threadIdx.x, deeper((unsigned)depth));
}
