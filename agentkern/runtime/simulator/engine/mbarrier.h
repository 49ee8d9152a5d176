// mbarriers: 8 bytes of shared memory that name an object kept here. A phase ends when no arrival
// and no byte is outstanding; it publishes what its arrivals and copies had published to it.

struct MBarrier {
    Block *block;
    uint32_t offset, count, missing, phase;
    int64_t pending_bytes;
    uint32_t *arriving, *done;  // clocks
    uint32_t init_fiber, init_tick, init_line;
    bool valid, init_fenced;
    uint32_t copy_line, copy_phase, seen_phase;  // phases count from 1 here, 0: none
};

enum : uint32_t { MAX_MBARRIERS = 8192, MBARRIER_SLOTS = 1u << 15 };

struct MBarriers {
    MBarrier all[MAX_MBARRIERS];
    uint32_t n;
    uint16_t at[MAX_CLUSTER][MBARRIER_SLOTS];  // index + 1, by offset / 8
};
static MBarriers mbarriers;

static void check_no_mbarrier(Block *block, uint64_t offset, uint32_t what, uint32_t line) {
    if (mbarriers.n == 0) return;
    uint64_t last = (offset + (what & AK_SIM_WIDTH) - 1) / 8;
    for (uint64_t slot = offset / 8; slot <= last; ++slot) {
        uint32_t index = mbarriers.at[block->rank][slot];
        if (!index || !mbarriers.all[index - 1].valid) continue;
        complain(MBARRIER_MISUSE, MBARRIER_ORDINARY_ACCESS, line, (int64_t)(slot * 8), 0);
    }
}

struct SharedPlace {
    Block *block;  // null: not shared memory
    uint64_t offset;
};
static SharedPlace shared_place(uint64_t address, uint32_t bytes, uint32_t alignment) {
    Block *block = block_of_address(&address);
    uint64_t offset = address - block->shared.device;
    if (offset >= block->shared.bytes || block->shared.bytes - offset < bytes || offset % alignment) {
        return {nullptr, offset};
    }
    return {block, offset};
}

static MBarrier *find_mbarrier(Block *block, uint64_t offset) {
    if (offset % 8 || offset >= block->shared.bytes) return nullptr;
    uint32_t index = mbarriers.at[block->rank][offset / 8];
    if (!index || !mbarriers.all[index - 1].valid) return nullptr;
    return &mbarriers.all[index - 1];
}

static void check_init_seen(const MBarrier *barrier, const uint32_t *clock, uint32_t line) {
    if (clock[barrier->init_fiber] >= barrier->init_tick) return;
    complain(MBARRIER_MISUSE, MBARRIER_INIT_NOT_SEEN, line, barrier->offset, barrier->init_line);
}

// The barrier at `address`, known to the running thread; null with a finding otherwise.
static MBarrier *use_mbarrier(uint64_t address, uint32_t line) {
    SharedPlace place = shared_place(address, 8, 8);
    if (!place.block) {
        complain(MBARRIER_MISUSE, MBARRIER_ADDRESS, line, (int64_t)place.offset, 0);
        return nullptr;
    }
    check_block_lives(place.block, line);
    MBarrier *barrier = find_mbarrier(place.block, place.offset);
    if (!barrier) {
        complain(MBARRIER_MISUSE, MBARRIER_NOT_INITIALISED, line, (int64_t)place.offset, 0);
        return nullptr;
    }
    check_init_seen(barrier, clock_of(launch.running), line);
    return barrier;
}

// What an asynchronous copy needs of the barrier it reports to.
static void check_init_fenced(const MBarrier *barrier, const uint32_t *clock, uint32_t line) {
    if (barrier->init_fenced || is_fenced(barrier->init_fiber, barrier->init_tick, clock)) return;
    complain(MBARRIER_MISUSE, MBARRIER_INIT_NOT_FENCED, line, (int64_t)barrier->offset, barrier->init_line);
}

static void initialise_mbarrier(uint64_t address, uint32_t count, uint32_t line) {
    Fiber *self = launch.running;
    SharedPlace place = shared_place(address, 8, 8);
    if (!place.block) {
        complain(MBARRIER_MISUSE, MBARRIER_ADDRESS, line, (int64_t)place.offset, 0);
        return;
    }
    if (count < 1 || count > 0xfffff) {
        complain(MBARRIER_MISUSE, MBARRIER_COUNT, line, count, 0);
        return;
    }
    if (find_mbarrier(place.block, place.offset)) {
        complain(MBARRIER_MISUSE, MBARRIER_INIT_TWICE, line, (int64_t)place.offset, 0);
        return;
    }
    if (launch.request->full_checks) {
        Space *space = &place.block->shared;
        track_thread(space, place.offset + shadow_shift(space), AK_SIM_WRITE | 8u, line);
    }
    uint16_t *slot = &mbarriers.at[place.block->rank][place.offset / 8];
    if (!*slot) {
        if (mbarriers.n == MAX_MBARRIERS) {
            add_finding(OUT_OF_SHADOW, line, NO_BUFFER, 0);
            stop_launch();
        }
        *slot = (uint16_t)++mbarriers.n;
        mbarriers.all[*slot - 1].arriving = take_clock();
        mbarriers.all[*slot - 1].done = take_clock();
    }
    MBarrier *barrier = &mbarriers.all[*slot - 1];
    barrier->block = place.block;
    barrier->offset = (uint32_t)place.offset;
    barrier->count = barrier->missing = count;
    barrier->phase = 0;
    barrier->pending_bytes = 0;
    barrier->init_fiber = self->index;
    barrier->init_tick = tick_of(self);
    barrier->init_line = line;
    barrier->valid = true;
    barrier->init_fenced = false;
    barrier->copy_phase = barrier->seen_phase = 0;
}

static void fence_initialisations() {
    for (uint32_t i = 0; i < mbarriers.n; ++i) {
        if (mbarriers.all[i].init_fiber == launch.running->index) mbarriers.all[i].init_fenced = true;
    }
}

static void see_phase(MBarrier *barrier, Fiber *fiber, uint32_t phase) {
    join_clock(clock_of(fiber), barrier->done);
    if (barrier->seen_phase < phase) barrier->seen_phase = phase;
}

static void end_phase(MBarrier *barrier) {
    uint32_t ended = barrier->phase++ & 1u;
    barrier->missing = barrier->count;
    join_clock(barrier->done, barrier->arriving);
    ++operations.progress;
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        Fiber *fiber = &launch.fibers[i];
        if (fiber->wait != WAIT_MBARRIER || fiber->value != (uint64_t)(uintptr_t)barrier) continue;
        if (fiber->argument != ended) continue;
        fiber->result = 1;
        see_phase(barrier, fiber, barrier->phase);
        make_ready(fiber);
    }
}

static void end_phase_if_complete(MBarrier *barrier) {
    if (barrier->missing == 0 && barrier->pending_bytes == 0) end_phase(barrier);
}

static void check_phase_seen(const MBarrier *barrier, uint32_t line) {
    if (has_clock(clock_of(launch.running), barrier->done)) return;
    complain(MBARRIER_MISUSE, MBARRIER_PHASE_NOT_SEEN, line, barrier->offset, barrier->phase);
}

static void arrive(MBarrier *barrier, int64_t bytes, uint32_t line) {
    Fiber *self = launch.running;
    if (bytes > 0xfffff || barrier->pending_bytes + bytes > 0xfffff) {
        complain(MBARRIER_MISUSE, MBARRIER_TX_RANGE, line, barrier->offset, barrier->pending_bytes + bytes);
    }
    barrier->pending_bytes += bytes;
    if (barrier->missing == 0) {
        complain(MBARRIER_MISUSE, MBARRIER_TOO_MANY_ARRIVALS, line, barrier->offset, barrier->count);
        return;
    }
    check_phase_seen(barrier, line);
    join_clock(barrier->arriving, clock_of(self));
    next_tick(self);
    --barrier->missing;
    end_phase_if_complete(barrier);
}

// `bytes` have been copied on behalf of an operation whose clock is `clock`.
static void complete_bytes(MBarrier *barrier, int64_t bytes, const uint32_t *clock, uint32_t lane,
                           uint32_t tick, uint32_t line) {
    join_clock(barrier->arriving, clock);
    see_lane(barrier->arriving, lane, tick);
    barrier->pending_bytes -= bytes;
    barrier->copy_line = line;
    barrier->copy_phase = barrier->phase + 1;
    if (barrier->pending_bytes < 0 && barrier->missing == 0) {
        complain(MBARRIER_MISUSE, MBARRIER_MORE_BYTES_THAN_EXPECTED, line, barrier->offset,
                 -barrier->pending_bytes);
    }
    end_phase_if_complete(barrier);
}

static bool wait_for_phase(MBarrier *barrier, uint32_t parity, bool may_return, uint32_t line) {
    Fiber *self = launch.running;
    if ((barrier->phase & 1u) != (parity & 1u)) {
        see_phase(barrier, self, barrier->phase);
        return true;
    }
    self->wait = WAIT_MBARRIER;
    self->kind = may_return;
    self->value = (uint64_t)(uintptr_t)barrier;
    self->argument = parity & 1u;
    self->line = line;
    self->result = 0;
    wait_here();
    return self->result;
}

static void reset_mbarriers() {
    for (uint32_t i = 0; i < mbarriers.n; ++i) {
        MBarrier *barrier = &mbarriers.all[i];
        mbarriers.at[barrier->block->rank][barrier->offset / 8] = 0;
        give_clock(barrier->arriving);
        give_clock(barrier->done);
        memset(barrier, 0, sizeof *barrier);
    }
    mbarriers.n = 0;
}

// A copy that nobody waited for when the block ended.
static void check_copies_seen() {
    for (uint32_t i = 0; i < mbarriers.n; ++i) {
        const MBarrier *barrier = &mbarriers.all[i];
        if (barrier->copy_phase > barrier->seen_phase) {
            complain(NEVER_WAITED, LOAD_NOT_WAITED, barrier->copy_line, barrier->offset, barrier->phase);
        }
    }
}
