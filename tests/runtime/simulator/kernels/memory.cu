// Accesses that are wrong by one step, each beside its near-miss. `// @name` marks the line that a report must name.

extern "C" __global__ void __launch_bounds__(32, 1) copy_u32(const unsigned* x, unsigned* out, long long count) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        ak_st_u32(out + i, ak_ldg_u32(x + i));  // @copy
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) load_at(const unsigned char* x, unsigned* out, long long offset) {
    if (threadIdx.x == 5) {
        uint4 v = ak_ldg_v4u32(x + offset);  // @load_at
        ak_st_u32(out, v.x);
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) store_at(unsigned char* out, long long offset) {
    if (threadIdx.x == 7) {
        ak_st_u16(out + offset, 0x1234);  // @store_at
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) store_shared_at(unsigned* out, long long offset) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    if (threadIdx.x == 0) {
        ak_sts_u32(ak_smem + offset, 17u);  // @store_shared_at
        ak_st_u32(out, 1u);
    }
}

// Every thread stores its slot but the one named by `skip`; all slots are read after a barrier.
extern "C" __global__ void __launch_bounds__(64, 1) fill_shared(unsigned* out, long long skip) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int t = threadIdx.x;
    if (t != skip) {
        ak_sts_u32(ak_smem + 4 * t, 100u + t);
    }
    __syncthreads();
    ak_st_u32(out + t, ak_lds_u32(ak_smem + 4 * (63 - t)));  // @fill_shared
}

extern "C" __global__ void __launch_bounds__(32, 1) accumulate(unsigned* total) {
    if (threadIdx.x == 0) {
        ak_st_u32(total, ak_ld_u32(total) + 1u);  // @accumulate
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) swapped_spaces(unsigned* out, long long which) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    if (which == 1) {
        ak_st_u32(ak_smem, 1u);  // @global_store_to_shared
    }
    if (which == 2) {
        ak_sts_u32(out, 1u);  // @shared_store_to_global
    }
    if (which == 3) {
        ak_st_u32((void*)0, 1u);  // @null_store
    }
}

// Reads through the read-only path what the launch writes; `offset` 4 keeps the two apart.
extern "C" __global__ void __launch_bounds__(32, 1) read_only_path(unsigned* x, long long offset) {
    if (threadIdx.x == 0) {
        unsigned v = ak_ldg_u32(x);
        ak_st_u32((char*)x + offset, v + 1u);  // @read_only_path
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) bypass(unsigned* out, long long which) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    if (which == 1) {
        *out = 3u;
    }
    if (which == 2) {
        ak_smem[0] = 3;
    }
    ak_st_u32(out, 1u);
}
