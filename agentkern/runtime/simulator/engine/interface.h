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
};

// `space_index`: a window (buffer), or one of the two below.
enum : uint32_t { NO_BUFFER = 0xffffffffu, SHARED_MEMORY = 0xfffffffeu };

struct Finding {
    uint32_t kind, access, width, count;
    uint32_t line, thread, space_index, other_line;
    int64_t byte_offset, block, other_block;
    int32_t other_thread;
    uint32_t other_access;
    uint64_t detail;
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
    WaitRecord *waits;  // n_threads of them, filled at a deadlock
    uint64_t step_limit, time_limit_ns, stack_bytes, seed;
    uint32_t thread_order, block_order, full_checks, reserved;
    // results
    uint64_t n_findings, n_unrecorded, n_waits, n_steps, n_switches, n_barriers, n_collectives, n_blocks_run;
    uint64_t wall_ns, shadow_bytes;
    uint32_t stopped, failed;
};

enum ThreadOrder : uint32_t { FORWARD, REVERSE, SEEDED, WARP_INTERLEAVED };
