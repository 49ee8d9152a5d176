// The C structures that cross to Python (mirrored in binding.py, field by field).
#define AK_SIM_MAX_DIMS 8
#define AK_SIM_MAX_THREADS 1024

enum FindingKind : uint32_t {
    OUT_OF_BOUNDS,
    MISALIGNED,
    READ_ONLY_WRITE,
    READ_ONLY_PATH,
    WRONG_SPACE,
    UNINITIALISED,
    RACE_THREADS,
    RACE_BLOCKS,
    BARRIER_DIVERGENCE,
    WARP_DIVERGENCE,
    SHUFFLE_SOURCE,
    DEADLOCK,
    TRAP,
    STEP_LIMIT,
    TIME_LIMIT,
    HOST_FAULT,
    STACK_OVERFLOW,
    OUT_OF_SHADOW,
    MISSING_FENCE,
    MBARRIER_MISUSE,
    OPERAND_MISUSE,
    REGISTERS_IN_FLIGHT,
    NEVER_WAITED,
    WARPGROUP_DIVERGENCE,
};

// `detail` of MBARRIER_MISUSE, OPERAND_MISUSE, REGISTERS_IN_FLIGHT, NEVER_WAITED and WARPGROUP_DIVERGENCE.
enum Complaint : uint32_t {
    MBARRIER_NOT_INITIALISED,
    MBARRIER_INIT_TWICE,
    MBARRIER_COUNT,
    MBARRIER_INIT_NOT_SEEN,
    MBARRIER_INIT_NOT_FENCED,
    MBARRIER_TOO_MANY_ARRIVALS,
    MBARRIER_MORE_BYTES_THAN_EXPECTED,
    MBARRIER_ORDINARY_ACCESS,
    MBARRIER_TX_RANGE,
    MBARRIER_ADDRESS,
    TENSOR_MAP_NOT_ONE,
    TENSOR_MAP_FIELD,
    TENSOR_MAP_RANK,
    TENSOR_MAP_NOT_MODELLED,
    SHARED_ADDRESS,
    BULK_SIZE,
    BULK_ADDRESS,
    CLUSTER_MASK,
    DESCRIPTOR_ADDRESS,
    DESCRIPTOR_BASE_OFFSET,
    DESCRIPTOR_BITS,
    MATRIX_ADDRESS,
    CP_ASYNC_SOURCE,
    NAMED_BARRIER_COUNT,
    NAMED_BARRIER_TWICE,
    CLUSTER_BARRIER_ORDER,
    REGISTER_COUNT,
    REGISTER_DIRECTION,
    ACCUMULATOR_TOUCHED,
    FRAGMENT_TOUCHED,
    ACCUMULATOR_NOT_FENCED,
    WGMMA_NOT_WAITED,
    WGMMA_NOT_COMMITTED,
    STORE_NOT_WAITED,
    STORE_NOT_COMMITTED,
    CP_ASYNC_NOT_WAITED,
    LOAD_NOT_WAITED,
    WARPGROUP_OPERATION,
    WARPGROUP_ARGUMENT,
    SWIZZLE_MISMATCH,
    BLOCK_HAS_ENDED,
    MBARRIER_PHASE_NOT_SEEN,
    NAMED_BARRIER_NOT_SEEN,
    BOX_COORDINATE,
    STORE_COORDINATE,
    REGISTER_KEPT,
};

// `space_index`: a window (buffer), or one of the two below.
enum : uint32_t { NO_BUFFER = 0xffffffffu, SHARED_MEMORY = 0xfffffffeu };

struct Finding {
    uint32_t kind, access, width, count;
    uint32_t line, thread, space_index, other_line;
    int64_t byte_offset, block, other_block;
    int32_t other_thread;
    uint32_t other_access;
    uint64_t detail;  // what exactly, per kind
    int64_t values[2];
};

// One buffer: a window of a region. A byte is addressable if it belongs to an element: `run_bytes`
// contiguous bytes at every combination of the strides (descending, nested), or all if n_dims is 0.
struct Window {
    uint64_t offset, bytes, run_bytes;
    int64_t strides[AK_SIM_MAX_DIMS], extents[AK_SIM_MAX_DIMS];
    uint8_t *initialised_bits;  // null: every byte is
    uint32_t n_dims, writable;
};

// A stretch of host memory with its own simulated address range; overlapping buffers share one.
struct RegionSpec {
    uint64_t device, host, bytes;
    uint32_t first_window, n_windows;
};

struct WaitRecord {
    uint32_t thread, wait, operation, line, mask;
    uint32_t block;
    // of an mbarrier or a named barrier
    int64_t barrier_offset, pending_bytes;
    uint32_t parity, phase, missing, count;
};

struct LaunchRequest {
    void (*entry)(void *const *);
    void *const *arguments;
    ak_sim_thread **current;
    uint64_t smem_device, smem_bytes;
    uint64_t n_blocks;
    const uint64_t *block_list;  // null: every block, in the order below
    uint64_t n_block_list;
    uint32_t n_threads, n_regions, n_windows, max_findings;
    const RegionSpec *regions;
    const Window *windows;
    Finding *findings;
    WaitRecord *waits;  // one for each thread of a cluster, filled at a deadlock
    uint64_t step_limit, time_limit_ns, stack_bytes, seed;
    uint32_t thread_order, block_order, full_checks, asynchronous;
    uint32_t cluster_blocks, completion, registers, reserved;
    // results
    uint64_t n_findings, n_unrecorded, n_waits, n_steps, n_switches, n_barriers, n_collectives, n_blocks_run;
    uint64_t wall_ns, shadow_bytes;
    uint32_t stopped, failed;
};

// When an asynchronous operation happens: at its issue, when something waits for it, or between.
enum Completion : uint32_t { EARLIEST, LATEST, RANDOM_COMPLETION };

enum ThreadOrder : uint32_t { FORWARD, REVERSE, SEEDED, WARP_INTERLEAVED };
