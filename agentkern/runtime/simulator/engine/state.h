// The state of one launch. One launch runs at a time in a process (the Python side holds a lock),
// so the state is a static object and the accessors need no context argument.
//
// What a thread can wait for is a WaitKind; what completes it calls `make_ready`; which bytes an agent
// may touch and how they are tracked is a Space. Whether one access happened before another is
// decided by `seen_by` (shadow.h) in ordinary kernels and by `knows` (history.h) in asynchronous ones.

// What a fiber can wait for.
enum WaitKind : uint32_t {
    WAIT_NONE,
    WAIT_BLOCK_BARRIER,
    WAIT_WARP_COLLECTIVE,
    EXITED,
    WAIT_MBARRIER,
    WAIT_NAMED_BARRIER,
    WAIT_CLUSTER_BARRIER,
    WAIT_WARPGROUP,
    WAIT_REGISTERS,
};

struct Block;

struct Fiber {
    ak_sim_thread view;  // first: `ak_sim_current` points here
    Context context;
    Block *block;
    uint32_t index;               // among the threads of the cluster
    uint32_t thread, warp, lane;  // in the block
    uint32_t wait, line;
    // pending collective or barrier
    uint32_t kind, mask, argument;
    uint64_t value, result;
    const ak_sim_request *request;  // of an asynchronous instruction
};

struct Warp {
    uint32_t exited;      // lanes that have returned
    uint32_t sync_epoch;  // barrier epoch in which `time` and `seen` hold
    uint32_t time;        // completed __syncwarp calls in this epoch
    // seen[l][m]: accesses of lane m stamped below this happened before lane l's next access
    uint32_t seen[32][32];
};

struct BlockBarrier {
    uint32_t arrived, first_line, first_kind, first_thread;
    uint32_t n_true;
};

struct Chunk;  // shadow of CHUNK_BYTES, see shadow.h
enum : uint32_t { CHUNK_BYTES = 4096 };

// An address space: shared memory, or one region of global memory.
struct Space {
    uint64_t device, bytes;
    uint8_t *host;
    const Window *windows;
    uint32_t n_windows, first_window;
    Chunk **directory;  // null: not tracked
    size_t directory_bytes;
};

// One block of the running cluster. Ordinary kernels run clusters of one.
struct Block {
    uint32_t rank, n_exited;
    uint64_t number;
    BlockBarrier barrier;
    Space shared;
    Fiber *fibers;
    Warp *warps;
};

enum : uint32_t { MAX_CLUSTER = 16, MAX_FIBERS = MAX_CLUSTER * AK_SIM_MAX_THREADS };

struct Launch {
    LaunchRequest *request;
    ak_sim_thread **current;
    Fiber *running;
    Context main_context;
    sigjmp_buf stop_point;
    volatile uint64_t step_limit;
    volatile sig_atomic_t expired, in_fiber;
    uint64_t steps, n_switches, n_barriers, n_collectives;
    uint64_t random;
    uint32_t last_line;  // of the last call into the engine: where a fault is near

    uint32_t n_threads, n_fibers, n_exited;  // of a block; of a cluster
    uint32_t asynchronous;  // history is kept by clocks (history.h), not by epochs (shadow.h)
    uint32_t epoch, block_epoch;  // of barriers; the first epoch of the running block
    uint32_t *block_epochs;       // first epoch of the i-th cluster run, and its first block's number
    uint64_t *block_numbers;
    uint64_t n_blocks_run, n_clusters_run;
    uint32_t ready_head, ready_count;
    uint32_t order[AK_SIM_MAX_THREADS];
    Space *regions;
    char *arena;
    size_t arena_used, arena_bytes;

    // from here on left as it is between launches
    Block blocks[MAX_CLUSTER];
    uint32_t ready[MAX_FIBERS];
    Fiber fibers[MAX_FIBERS];
    Warp warps[MAX_FIBERS / 32];
};

static Launch launch;
static StackPool stacks;

// Ends the launch from inside a fiber or a signal handler; the fibers are simply dropped.
[[noreturn]] static void stop_launch() {
    launch.in_fiber = 0;
    siglongjmp(launch.stop_point, 1);
}

static inline uint64_t next_random() {  // splitmix64
    uint64_t z = (launch.random += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
