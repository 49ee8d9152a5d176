// One launch: set up the spaces, run the blocks one after another, report.

static void trap(unsigned line) {
    add_finding(TRAP, line, NO_BUFFER, 0);
    stop_launch();
}

static const ak_sim_engine_table ENGINE_TABLE = {AK_SIM_ABI_VERSION, access, collective,
                                                 block_barrier, trap, asynchronous};

static void run_fiber() {
    for (;;) {
        launch.request->entry(launch.request->arguments);
        leave_block();
        wait_here();
    }
}

static void start_block(Block *block, uint64_t number) {
    block->number = number;
    block->n_exited = 0;
    memset(&block->barrier, 0, sizeof block->barrier);
    if (block->shared.bytes) memset(block->shared.host, 0xcd, block->shared.bytes);
    for (uint32_t w = 0; w < launch.n_threads / 32; ++w) block->warps[w].exited = 0;
    for (uint32_t i = 0; i < launch.n_threads; ++i) {
        Fiber *fiber = &block->fibers[launch.order[i]];
        fiber->view.block.x = (uint32_t)number;
        fiber->line = 0;
        prepare_context(&fiber->context, stack_of(&stacks, fiber->index), stacks.stack_bytes, run_fiber);
        make_ready(fiber);
    }
}

static void start_cluster(uint64_t first) {
    ++launch.epoch;
    launch.block_epoch = launch.epoch;
    launch.block_epochs[launch.n_clusters_run] = launch.epoch;
    launch.block_numbers[launch.n_clusters_run++] = first;
    launch.n_exited = 0;
    launch.ready_head = launch.ready_count = 0;
    if (launch.asynchronous) start_asynchronous();
    uint32_t n = launch.request->cluster_blocks;
    for (uint32_t rank = 0; rank < n; ++rank) start_block(&launch.blocks[rank], first + rank);
    launch.n_blocks_run += n;
}

// Lists what every thread that is left waits for.
static void report_deadlock() {
    LaunchRequest *request = launch.request;
    Fiber *first = nullptr;
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        Fiber *fiber = &launch.fibers[i];
        if (fiber->wait == EXITED) continue;
        if (!first) first = fiber;
        WaitRecord *record = &request->waits[request->n_waits++];
        *record = {};
        record->thread = fiber->thread;
        record->wait = fiber->wait;
        record->operation = fiber->kind;
        record->line = fiber->line;
        record->block = (uint32_t)fiber->block->number;
        if (fiber->wait == WAIT_WARP_COLLECTIVE) record->mask = fiber->mask;
        if (launch.asynchronous) describe_wait(fiber, record);
    }
    launch.running = first;
    add_finding(DEADLOCK, request->waits[0].line, NO_BUFFER, 0);
}

// Returns false if threads are left that nothing can wake.
static bool run_cluster(uint64_t number) {
    start_cluster(number);
    Fiber *first = take_ready();
    launch.in_fiber = 1;
    resume(&launch.main_context, first);
    launch.in_fiber = 0;
    if (launch.n_exited != launch.n_fibers) {
        report_deadlock();
        return false;
    }
    if (launch.asynchronous) finish_asynchronous();
    return true;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// The i-th block to run is (multiplier * i + offset) mod n, a permutation.
struct BlockOrder {
    uint64_t multiplier, offset;
};

static BlockOrder choose_block_order(const LaunchRequest *request, uint64_t n) {
    if (request->block_order == REVERSE) return {n - 1, n - 1};
    if (request->block_order != SEEDED || n < 2) return {1, 0};
    uint64_t multiplier = 1 + next_random() % (n - 1);
    while (greatest_common_divisor(multiplier, n) != 1) ++multiplier;
    return {multiplier, next_random() % n};
}

static void run_blocks() {
    LaunchRequest *request = launch.request;
    uint64_t size = request->cluster_blocks, n_clusters = request->n_blocks / size;
    BlockOrder order = choose_block_order(request, n_clusters);
    uint64_t n = request->block_list ? request->n_block_list / size : n_clusters;
    for (uint64_t i = 0; i < n; ++i) {
        if (launch.expired) {  // kernels without any access reach no other check
            add_finding(TIME_LIMIT, 0, NO_BUFFER, 0);
            request->stopped = 1;
            return;
        }
        uint64_t number = request->block_list
                              ? request->block_list[i * size]
                              : (uint64_t)(((unsigned __int128)order.multiplier * i + order.offset) % n) * size;
        if (!run_cluster(number)) {
            request->stopped = 1;
            return;
        }
    }
}

static char *map_directory(Space *space) {
    uint64_t covered = space->bytes + shadow_shift(space);
    space->directory_bytes = (covered / CHUNK_BYTES + 1) * sizeof(Chunk *);
    space->directory = (Chunk **)map_pages(space->directory_bytes);
    return (char *)space->directory;
}

static bool set_up_spaces(LaunchRequest *request) {
    static uint8_t *shared_bytes;
    static const Window whole_shared = {};
    if (!shared_bytes) shared_bytes = (uint8_t *)map_pages((size_t)MAX_CLUSTER << BLOCK_SHARED_SHIFT);
    for (uint32_t rank = 0; rank < request->cluster_blocks; ++rank) {
        launch.blocks[rank].shared = {request->smem_device, request->smem_bytes,
                                      shared_bytes + ((size_t)rank << BLOCK_SHARED_SHIFT), &whole_shared,
                                      0, SHARED_MEMORY, nullptr, 0};
    }
    launch.regions = (Space *)calloc(request->n_regions + 1, sizeof(Space));
    if (!shared_bytes || !launch.regions) return false;
    for (uint32_t i = 0; i < request->n_regions; ++i) {
        const RegionSpec *spec = &request->regions[i];
        launch.regions[i] = {spec->device, spec->bytes, (uint8_t *)spec->host,
                             request->windows + spec->first_window, spec->n_windows,
                             spec->first_window, nullptr, 0};
    }
    if (!request->full_checks) return true;
    launch.arena_bytes = (size_t)1 << 38;
    while (launch.arena_bytes > 1 << 24 && !(launch.arena = map_pages(launch.arena_bytes))) {
        launch.arena_bytes /= 2;
    }
    bool mapped = launch.arena;
    for (uint32_t rank = 0; rank < request->cluster_blocks && mapped; ++rank) {
        mapped = map_directory(&launch.blocks[rank].shared) != nullptr;
    }
    for (uint32_t i = 0; i < request->n_regions && mapped; ++i) {
        mapped = map_directory(&launch.regions[i]) != nullptr;
    }
    return mapped;
}

static void unmap(void *p, size_t bytes) {
    if (p) munmap(p, bytes);
}

static void tear_down_spaces(LaunchRequest *request) {
    for (uint32_t rank = 0; rank < request->cluster_blocks; ++rank) {
        unmap(launch.blocks[rank].shared.directory, launch.blocks[rank].shared.directory_bytes);
    }
    for (uint32_t i = 0; launch.regions && i < request->n_regions; ++i) {
        unmap(launch.regions[i].directory, launch.regions[i].directory_bytes);
    }
    free(launch.regions);
    unmap(launch.arena, launch.arena_bytes);
    uint64_t n_blocks = request->block_list ? request->n_block_list : request->n_blocks;
    unmap(launch.block_epochs, (n_blocks + 1) * sizeof(uint32_t));
    unmap(launch.block_numbers, (n_blocks + 1) * sizeof(uint64_t));
}

static void set_up_threads(LaunchRequest *request) {
    launch.n_threads = request->n_threads;
    launch.n_fibers = request->n_threads * request->cluster_blocks;
    order_threads();
    for (uint32_t w = 0; w < launch.n_fibers / 32; ++w) launch.warps[w].sync_epoch = 0;
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        uint32_t rank = i / request->n_threads, thread = i % request->n_threads;
        Fiber *fiber = &launch.fibers[i];
        fiber->view = {{thread, 0, 0}, {0, 0, 0}, {request->n_threads, 1, 1},
                       {(uint32_t)request->n_blocks, 1, 1}};
        fiber->block = &launch.blocks[rank];
        fiber->index = i;
        fiber->thread = thread;
        fiber->warp = thread / 32;
        fiber->lane = thread % 32;
    }
    for (uint32_t rank = 0; rank < request->cluster_blocks; ++rank) {
        Block *block = &launch.blocks[rank];
        block->rank = rank;
        block->fibers = &launch.fibers[rank * request->n_threads];
        block->warps = &launch.warps[rank * request->n_threads / 32];
    }
}

static uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static uint32_t float_control() {
    uint32_t word;
    __asm__ volatile("stmxcsr %0" : "=m"(word));
    return word;
}
static void set_float_control(uint32_t word) { __asm__ volatile("ldmxcsr %0" : : "m"(word)); }
static const uint32_t DEFAULT_FLOAT_CONTROL = 0x1f80;
#elif defined(__aarch64__)
static uint64_t float_control() {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}
static void set_float_control(uint64_t word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
static const uint64_t DEFAULT_FLOAT_CONTROL = 0;
#else
static int float_control() { return 0; }
static void set_float_control(int) {}
static const int DEFAULT_FLOAT_CONTROL = 0;
#endif

static void run_guarded(LaunchRequest *request) {
    auto control = float_control();
    set_float_control(DEFAULT_FLOAT_CONTROL);
    guard_faults();
    bool watched = start_watchdog(request->time_limit_ns);
    if (sigsetjmp(launch.stop_point, 1) == 0) {
        run_blocks();
    } else {
        request->stopped = 1;
    }
    if (watched) stop_watchdog();
    release_faults();
    set_float_control(control);
}

#define AK_SIM_API extern "C" __attribute__((visibility("default")))

AK_SIM_API const ak_sim_engine_table *ak_sim_table() { return &ENGINE_TABLE; }

// Sizes of the structures shared with Python, which compares them with its own.
AK_SIM_API const uint64_t *ak_sim_struct_bytes() {
    static const uint64_t sizes[] = {sizeof(Finding), sizeof(Window), sizeof(RegionSpec),
                                     sizeof(WaitRecord), sizeof(LaunchRequest)};
    return sizes;
}

AK_SIM_API void ak_sim_protect(void *p, size_t bytes) { mprotect(p, bytes, PROT_NONE); }

AK_SIM_API void ak_sim_launch(LaunchRequest *request) {
    uint64_t start = now_ns();
    memset(&launch, 0, offsetof(Launch, blocks));
    launch.arena = nullptr;
    launch.arena_used = 0;
    launch.request = request;
    launch.current = request->current;
    launch.step_limit = request->step_limit;
    launch.random = request->seed;
    uint64_t n_blocks = request->block_list ? request->n_block_list : request->n_blocks;
    launch.block_epochs = (uint32_t *)map_pages((n_blocks + 1) * sizeof(uint32_t));
    launch.block_numbers = (uint64_t *)map_pages((n_blocks + 1) * sizeof(uint64_t));
    launch.asynchronous = request->asynchronous;
    set_up_threads(request);
    if (launch.block_epochs && launch.block_numbers && set_up_spaces(request) &&
        reserve_stacks(&stacks, launch.n_fibers, request->stack_bytes) &&
        (!launch.asynchronous || set_up_asynchronous())) {
        run_guarded(request);
    } else {
        request->failed = 1;
    }
    tear_down_spaces(request);
    if (launch.asynchronous) tear_down_asynchronous();
    request->n_steps = launch.steps;
    request->n_switches = launch.n_switches;
    request->n_barriers = launch.n_barriers;
    request->n_collectives = launch.n_collectives;
    request->n_blocks_run = launch.n_blocks_run;
    request->shadow_bytes = launch.arena_used;
    request->wall_ns = now_ns() - start;
}
