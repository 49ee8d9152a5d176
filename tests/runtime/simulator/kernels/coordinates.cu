// One box of 8 x 64 elements of 16 bits, loaded or stored at any coordinates. `// @name` marks a line.
extern __shared__ __align__(1024) unsigned char ak_smem[];

extern "C" __global__ void __launch_bounds__(32, 1) load_at(const __grid_constant__ AkTensorMap map, unsigned* out, int row,
                                                            int column) {
    unsigned char* bar = ak_smem + 1024;
    if (threadIdx.x == 0) {
        ak_mbarrier_init(bar, 1);
        ak_mbarrier_fence_init();
        ak_mbarrier_arrive_expect_tx(bar, 1024);
        ak_tma_load_2d(ak_smem, &map, bar, column, row);  // @load
    }
    __syncthreads();
    ak_mbarrier_wait(bar, 0);
    for (int i = threadIdx.x; i < 256; i += 32) {
        ak_st_u32(out + i, ak_lds_u32(ak_smem + 4 * i));
    }
}

extern "C" __global__ void __launch_bounds__(32, 1) store_at(const __grid_constant__ AkTensorMap map, int row, int column) {
    for (int i = threadIdx.x; i < 256; i += 32) {
        ak_sts_u32(ak_smem + 4 * i, 0x00010001u * (unsigned)(i + 1));
    }
    ak_fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        ak_tma_store_2d(&map, ak_smem, column, row);  // @store
        ak_bulk_commit();
        ak_bulk_wait_0();
    }
}
