// The asynchronous and tensor-core instructions, as the shim hands them to the engine: one function
// of the table, an operation and a request. Both sides see this text.
enum : unsigned {
    AK_SIM_MBARRIER_INIT,          // address, value: arrivals
    AK_SIM_MBARRIER_FENCE_INIT,
    AK_SIM_MBARRIER_ARRIVE,        // address
    AK_SIM_MBARRIER_ARRIVE_TX,     // address, value: bytes
    AK_SIM_MBARRIER_ARRIVE_REMOTE, // address, value: rank of the block
    AK_SIM_MBARRIER_WAIT,          // address, value: parity
    AK_SIM_MBARRIER_TRY_WAIT,      // the same
    AK_SIM_MBARRIER_INVALIDATE,    // address
    AK_SIM_TMA_LOAD,               // address, other: mbarrier, map, coordinates, numbers: rank, blocks' mask
    AK_SIM_TMA_STORE,              // address, map, coordinates, numbers: rank
    AK_SIM_TMA_PREFETCH,           // map
    AK_SIM_BULK_LOAD,              // address, other: global, value: bytes, third: mbarrier
    AK_SIM_BULK_STORE,             // address, other: global, value: bytes
    AK_SIM_BULK_COMMIT,
    AK_SIM_BULK_WAIT,              // value: groups that may be left
    AK_SIM_BULK_WAIT_READ,
    AK_SIM_FENCE_PROXY,
    AK_SIM_FENCE_CLUSTER,
    AK_SIM_WGMMA_FENCE,
    AK_SIM_WGMMA,                  // product; address: descriptor or 0, other: descriptor, value: scale-d
    AK_SIM_WGMMA_COMMIT,
    AK_SIM_WGMMA_WAIT,
    AK_SIM_MMA,                    // product
    AK_SIM_LDMATRIX,               // address, registers[0], numbers: matrices, transposed
    AK_SIM_STMATRIX,
    AK_SIM_CP_ASYNC,               // address, other: global, value: source bytes, numbers: width
    AK_SIM_CP_ASYNC_COMMIT,
    AK_SIM_CP_ASYNC_WAIT,
    AK_SIM_CP_ASYNC_ARRIVE,        // address
    AK_SIM_BAR_SYNC,               // numbers: barrier, threads
    AK_SIM_BAR_ARRIVE,
    AK_SIM_ELECT,
    AK_SIM_REGISTERS_INC,          // value: registers a thread
    AK_SIM_REGISTERS_DEC,
    AK_SIM_CLUSTER_ARRIVE,
    AK_SIM_CLUSTER_WAIT,
    AK_SIM_CLUSTER_RANK,
    AK_SIM_MAPA,                   // address, value: rank
    AK_SIM_N_OPERATIONS,
};

// Formats of tensor-core operands.
enum : unsigned { AK_SIM_BF16, AK_SIM_F16, AK_SIM_TF32, AK_SIM_E4M3, AK_SIM_E5M2, AK_SIM_S8, AK_SIM_U8 };

struct ak_sim_request {
    ak_sim_u64 address, other, third, value;
    const void *map;
    void *registers[3];  // accumulator, a, b
    int coordinates[5];  // innermost first
    // of a product: n, k, format of a, format of b, a is MN-major, b is MN-major
    unsigned numbers[6];
};
