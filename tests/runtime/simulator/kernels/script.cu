// Runs a program of accesses and synchronisations that the test makes up: `steps` x 64 words, one word a thread and
// step: operation | width << 4 | offset << 8. Operations: 0 nothing, 1 load, 2 store, 3 block barrier, 4 warp barrier,
// 5 half-warp barrier; barriers are the same for all threads. `global` takes the memory from a buffer.

__device__ __forceinline__ void load(const unsigned char* p, unsigned width, long long global) {
    if (width == 1) global ? ak_ld_u8(p) : ak_lds_u8(p);
    if (width == 2) global ? ak_ld_u16(p) : ak_lds_u16(p);
    if (width == 4) global ? ak_ld_u32(p) : ak_lds_u32(p);
    if (width == 8) global ? ak_ld_v2u32(p) : ak_lds_v2u32(p);
    if (width == 16) global ? ak_ld_v4u32(p) : ak_lds_v4u32(p);
}

__device__ __forceinline__ void store(unsigned char* p, unsigned width, long long global) {
    if (width == 1) global ? ak_st_u8(p, 1) : ak_sts_u8(p, 1);
    if (width == 2) global ? ak_st_u16(p, 1) : ak_sts_u16(p, 1);
    if (width == 4) global ? ak_st_u32(p, 1u) : ak_sts_u32(p, 1u);
    if (width == 8) global ? ak_st_v2u32(p, make_uint2(1, 2)) : ak_sts_v2u32(p, make_uint2(1, 2));
    if (width == 16) global ? ak_st_v4u32(p, make_uint4(1, 2, 3, 4)) : ak_sts_v4u32(p, make_uint4(1, 2, 3, 4));
}

extern "C" __global__ void __launch_bounds__(64, 1) script(const unsigned* program, unsigned char* memory,
                                                           long long steps, long long global) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    unsigned char* base = global ? memory : ak_smem;
    for (long long s = 0; s < steps; ++s) {
        unsigned word = ak_ldg_u32(program + (blockIdx.x * steps + s) * 64 + threadIdx.x);
        unsigned operation = word & 15u, width = word >> 4 & 15u, offset = word >> 8;
        if (operation == 1) load(base + offset, width + 1u, global);
        if (operation == 2) store(base + offset, width + 1u, global);
        if (operation == 3) __syncthreads();
        if (operation == 4) __syncwarp();
        if (operation == 5) __syncwarp(threadIdx.x & 16u ? 0xffff0000u : 0x0000ffffu);
    }
}
