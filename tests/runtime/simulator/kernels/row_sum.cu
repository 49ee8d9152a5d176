// Sums of the rows of a bf16 matrix in f32: one block a row, 16-byte loads, shuffles, shared memory.
extern "C" __global__ void __launch_bounds__(128, 4) row_sum(const unsigned short* x, float* out, long long rows,
                                                             long long columns) {
    extern __shared__ __align__(1024) unsigned char ak_smem[];
    int thread = threadIdx.x;
    long long row = blockIdx.x;
    float total = -0.0f;
    for (long long column = thread * 8; column < columns; column += 8 * blockDim.x) {
        uint4 v = ak_ldg_v4u32(x + row * columns + column);
        unsigned words[4] = {v.x, v.y, v.z, v.w};
        for (int i = 0; i < 4; ++i) {
            total = __fadd_rn(total, __uint_as_float(words[i] << 16));
            total = __fadd_rn(total, __uint_as_float(words[i] & 0xffff0000u));
        }
    }
    for (int m = 16; m > 0; m >>= 1) {
        total = __fadd_rn(total, __shfl_xor_sync(0xffffffffu, total, m));
    }
    if (thread % 32 == 0) {
        ak_sts_u32(ak_smem + thread / 32 * 4, __float_as_uint(total));
    }
    __syncthreads();
    float sum = -0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) {
        sum = __fadd_rn(sum, __uint_as_float(ak_lds_u32(ak_smem + w * 4)));
    }
    if (thread == 0) {
        ak_st_u32(out + row, __float_as_uint(sum));
    }
}
