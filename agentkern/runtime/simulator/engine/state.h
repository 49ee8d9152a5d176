// The state of one launch. One launch runs at a time in a process (the Python side holds a lock),
// so the state is a static object and the accessors need no context argument.
//
// Where asynchronous operations go: what a thread can wait for is a WaitKind; what completes it calls
// `make_ready`; which bytes an agent may touch and how they are tracked is a Space; whether one
// access happened before another is decided by `seen_by` alone (shadow.h).

// What a fiber can wait for.
enum WaitKind : uint32_t {
    WAIT_NONE,
    WAIT_BLOCK_BARRIER,
    WAIT_WARP_COLLECTIVE,
    EXITED,
};

struct Fiber {
    ak_sim_thread view;  // first: `ak_sim_current` points here
    Context context;
    uint32_t thread, warp, lane;
    uint32_t wait, line;
    // pending collective or barrier
    uint32_t kind, mask, argument;
    uint64_t value, result;
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

    uint32_t n_threads, n_exited;
    uint32_t epoch, block_epoch;  // of barriers; the first epoch of the running block
    uint32_t *block_epochs;       // first epoch of the i-th block run, and its number
    uint64_t *block_numbers;
    uint64_t n_blocks_run;
    BlockBarrier barrier;

    uint32_t ready[AK_SIM_MAX_THREADS], ready_head, ready_count;
    uint32_t order[AK_SIM_MAX_THREADS];
    Fiber fibers[AK_SIM_MAX_THREADS];
    Warp warps[AK_SIM_MAX_THREADS / 32];

    Space shared;
    Space *regions;
    char *arena;
    size_t arena_used, arena_bytes;
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
