// Vector clocks: what each thread of the cluster knows to have happened. An agent is a thread or a
// lane of asynchronous operations; each has a tick that grows at what it publishes. An access of
// agent a at tick k happened before whatever has clock[a] >= k.
//
// Operations get lanes rather than agents of their own: a lane is used again only by an issuer that
// has seen its last operation end, so that seeing the new one end implies the old one, and a ring of
// stages needs few lanes for any number of copies.

enum : uint32_t { MAX_LANES = 4096, CLOCK_SLACK = 64, FENCES_KEPT = 64, NO_LANE = ~0u };

typedef uint32_t ClockVector __attribute__((vector_size(32)));

struct OperationLane {
    uint32_t last_tick, owner;  // fiber that issued the last operation
    uint32_t waited_at;         // tick of the owner when it saw the last one end
    uint32_t kind;
};

struct Fences {
    uint32_t ticks[FENCES_KEPT], n;
};

struct Clocks {
    uint32_t n_fibers, n_lanes, stride;
    uint32_t *of_fibers;
    char *pool;
    size_t pool_bytes, pool_used;
    uint32_t *free_clocks;  // linked through their first bytes, else zero
    OperationLane lanes[MAX_LANES];
    Fences fences[MAX_FIBERS];
};
static Clocks clocks;

static inline uint32_t *clock_of(const Fiber *fiber) {
    return clocks.of_fibers + (size_t)fiber->index * clocks.stride;
}
static inline uint32_t tick_of(const Fiber *fiber) { return clock_of(fiber)[fiber->index]; }

static inline uint32_t clock_width() { return (clocks.n_fibers + clocks.n_lanes + 7) & ~7u; }

static void join_clock(uint32_t *into, const uint32_t *from) {
    ClockVector *a = (ClockVector *)into;
    const ClockVector *b = (const ClockVector *)from;
    for (uint32_t i = 0, n = clock_width() / 8; i < n; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
}
static void meet_clock(uint32_t *into, const uint32_t *from) {
    ClockVector *a = (ClockVector *)into;
    const ClockVector *b = (const ClockVector *)from;
    for (uint32_t i = 0, n = clock_width() / 8; i < n; ++i) a[i] = a[i] < b[i] ? a[i] : b[i];
}
// Whether `clock` has all that `other` has.
static bool has_clock(const uint32_t *clock, const uint32_t *other) {
    for (uint32_t i = 0, n = clock_width(); i < n; ++i) {
        if (clock[i] < other[i]) return false;
    }
    return true;
}
static void copy_clock(uint32_t *into, const uint32_t *from) {
    memcpy(into, from, clock_width() * sizeof(uint32_t));
}

// Zero beyond the agents in use, as every clock is.
static uint32_t *take_clock() {
    if (clocks.free_clocks) {
        uint32_t *clock = clocks.free_clocks;
        memcpy(&clocks.free_clocks, clock, sizeof clocks.free_clocks);
        memset(clock, 0, sizeof clocks.free_clocks);
        return clock;
    }
    size_t bytes = clocks.stride * sizeof(uint32_t);
    if (clocks.pool_used + bytes > clocks.pool_bytes) {
        add_finding(OUT_OF_SHADOW, launch.last_line, NO_BUFFER, 0);
        stop_launch();
    }
    uint32_t *clock = (uint32_t *)(clocks.pool + clocks.pool_used);
    clocks.pool_used += bytes;
    return clock;
}
static void give_clock(uint32_t *clock) {
    if (!clock) return;
    memset(clock, 0, clock_width() * sizeof(uint32_t));
    memcpy(clock, &clocks.free_clocks, sizeof clocks.free_clocks);
    clocks.free_clocks = clock;
}

// What `fiber` did until now is published with its clock; what it does next is not.
static inline void next_tick(Fiber *fiber) { ++clock_of(fiber)[fiber->index]; }

static void fence_proxy(Fiber *fiber) {
    Fences *fences = &clocks.fences[fiber->index];
    fences->ticks[fences->n++ % FENCES_KEPT] = tick_of(fiber);
    next_tick(fiber);
}

// Whether what fiber `index` wrote at `tick` passed a proxy fence of that thread before it was
// published to `clock`. Fences too old to be kept count as made.
static bool is_fenced(uint32_t index, uint32_t tick, const uint32_t *clock) {
    const Fences *fences = &clocks.fences[index];
    uint32_t n = fences->n < FENCES_KEPT ? fences->n : (uint32_t)FENCES_KEPT;
    for (uint32_t back = 1; back <= n; ++back) {
        uint32_t fence = fences->ticks[(fences->n - back) % FENCES_KEPT];
        if (fence < tick) return false;
        if (fence < clock[index]) return true;
    }
    return fences->n > FENCES_KEPT;
}

// A lane for an operation whose issue has `clock`.
static uint32_t take_lane(const uint32_t *clock, uint32_t owner, uint32_t kind) {
    uint32_t found = NO_LANE;
    for (uint32_t i = 0; i < clocks.n_lanes && found == NO_LANE; ++i) {
        if (clocks.lanes[i].last_tick <= clock[clocks.n_fibers + i]) found = i;
    }
    if (found == NO_LANE) {
        // beyond the last one races may be missed, never invented
        found = clocks.n_lanes < MAX_LANES ? clocks.n_lanes++ : (uint32_t)(next_random() % MAX_LANES);
    }
    OperationLane *lane = &clocks.lanes[found];
    ++lane->last_tick;
    lane->owner = owner;
    lane->waited_at = 0;
    lane->kind = kind;
    return found;
}

// `fiber` has seen the operation at `tick` of the lane end.
static inline void see_lane(uint32_t *clock, uint32_t lane, uint32_t tick) {
    uint32_t *seen = &clock[clocks.n_fibers + lane];
    if (*seen < tick) *seen = tick;
}

static void reset_clocks() {
    size_t bytes = clock_width() * sizeof(uint32_t);
    for (uint32_t i = 0; i < clocks.n_fibers; ++i) {
        uint32_t *clock = clocks.of_fibers + (size_t)i * clocks.stride;
        memset(clock, 0, bytes);
        clock[i] = 1;
        clocks.fences[i].n = 0;
    }
    memset(clocks.lanes, 0, clocks.n_lanes * sizeof(OperationLane));
    clocks.n_lanes = 0;
}

static bool set_up_clocks() {
    clocks.n_fibers = launch.n_fibers;
    clocks.n_lanes = 0;
    clocks.stride = (launch.n_fibers + MAX_LANES + CLOCK_SLACK) & ~15u;
    clocks.pool_bytes = (size_t)clocks.stride * sizeof(uint32_t) * (launch.n_fibers + 2 * 8192 + 65536);
    clocks.pool = map_pages(clocks.pool_bytes);
    clocks.of_fibers = (uint32_t *)clocks.pool;
    clocks.pool_used = (size_t)clocks.stride * sizeof(uint32_t) * launch.n_fibers;
    clocks.free_clocks = nullptr;
    return clocks.pool != nullptr;
}

// All threads of a block have met at a barrier.
static void order_fibers(Fiber *const *fibers, uint32_t n) {
    uint32_t *all = take_clock();
    for (uint32_t i = 0; i < n; ++i) join_clock(all, clock_of(fibers[i]));
    for (uint32_t i = 0; i < n; ++i) {
        copy_clock(clock_of(fibers[i]), all);
        next_tick(fibers[i]);
    }
    give_clock(all);
}

static void order_block(Block *block) {
    static Fiber *present[AK_SIM_MAX_THREADS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < launch.n_threads; ++i) {
        if (block->fibers[i].wait == WAIT_BLOCK_BARRIER) present[n++] = &block->fibers[i];
    }
    order_fibers(present, n);
}

static void order_warp(Fiber *lanes, uint32_t mask) {
    Fiber *present[32];
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) present[n++] = &lanes[__builtin_ctz(mask)];
    order_fibers(present, n);
}
