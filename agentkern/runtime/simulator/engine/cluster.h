// Named barriers, cluster barriers and the registers that warpgroups hand to each other.

struct NamedBarrier {
    uint32_t arrived, threads, line;
    uint32_t *clock, *last;  // of those that arrive, and that met last
    uint8_t has_arrived[AK_SIM_MAX_THREADS];
};
struct ClusterBarrier {
    uint32_t arrived, phase;
    uint32_t *arriving, *done;
};
enum : uint32_t { N_NAMED_BARRIERS = 16, SM_REGISTERS = 65536 };

static NamedBarrier named_barriers[MAX_CLUSTER][N_NAMED_BARRIERS];
static ClusterBarrier cluster_barrier;

static void end_named_barrier(Block *block, uint32_t id) {
    NamedBarrier *barrier = &named_barriers[block->rank][id];
    for (uint32_t i = 0; i < launch.n_threads; ++i) {
        Fiber *fiber = &block->fibers[i];
        if (fiber->wait != WAIT_NAMED_BARRIER || fiber->argument != id) continue;
        join_clock(clock_of(fiber), barrier->clock);
        make_ready(fiber);
    }
    give_clock(barrier->last);
    uint32_t *met = barrier->clock;
    memset(barrier, 0, sizeof *barrier);
    barrier->last = met;
    ++operations.progress;
}

static void use_named_barrier(uint32_t id, uint32_t threads, bool wait, uint32_t line) {
    Fiber *self = launch.running;
    if (id >= N_NAMED_BARRIERS || threads == 0 || threads % 32 || threads > launch.n_threads) {
        complain(OPERAND_MISUSE, NAMED_BARRIER_COUNT, line, id, threads);
        return;
    }
    NamedBarrier *barrier = &named_barriers[self->block->rank][id];
    if (barrier->arrived && barrier->threads != threads) {
        complain(OPERAND_MISUSE, NAMED_BARRIER_COUNT, line, id, threads);
    }
    if (barrier->has_arrived[self->thread]) {
        complain(OPERAND_MISUSE, NAMED_BARRIER_TWICE, line, id, threads);
    }
    if (barrier->last && !has_clock(clock_of(self), barrier->last)) {
        complain(OPERAND_MISUSE, NAMED_BARRIER_NOT_SEEN, line, id, 0);
    }
    if (!barrier->clock) barrier->clock = take_clock();
    barrier->has_arrived[self->thread] = 1;
    barrier->threads = threads;
    barrier->line = line;
    join_clock(barrier->clock, clock_of(self));
    next_tick(self);
    self->wait = wait ? WAIT_NAMED_BARRIER : WAIT_NONE;
    self->argument = id;
    self->line = line;
    if (++barrier->arrived == threads) end_named_barrier(self->block, id);
    if (wait) wait_here();
}

static void end_cluster_barrier_if_complete() {
    ClusterBarrier *barrier = &cluster_barrier;
    if (barrier->arrived == 0 || barrier->arrived < launch.n_fibers - launch.n_exited) return;
    barrier->arrived = 0;
    ++barrier->phase;
    ++operations.progress;
    join_clock(barrier->done, barrier->arriving);
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        Fiber *fiber = &launch.fibers[i];
        if (fiber->wait != WAIT_CLUSTER_BARRIER) continue;
        join_clock(clock_of(fiber), barrier->done);
        make_ready(fiber);
    }
}

static void arrive_at_cluster(uint32_t line) {
    Fiber *self = launch.running;
    ThreadState *state = state_of(self);
    if (state->cluster_phase == cluster_barrier.phase + 1) {
        complain(OPERAND_MISUSE, CLUSTER_BARRIER_ORDER, line, 0, 0);
        return;
    }
    state->cluster_phase = cluster_barrier.phase + 1;
    join_clock(cluster_barrier.arriving, clock_of(self));
    next_tick(self);
    ++cluster_barrier.arrived;
    end_cluster_barrier_if_complete();
}

static void wait_for_cluster(uint32_t line) {
    Fiber *self = launch.running;
    uint32_t arrived_in = state_of(self)->cluster_phase;
    if (arrived_in == 0 || arrived_in < cluster_barrier.phase) {
        complain(OPERAND_MISUSE, CLUSTER_BARRIER_ORDER, line, 1, 0);
        return;
    }
    if (arrived_in == cluster_barrier.phase) {
        join_clock(clock_of(self), cluster_barrier.done);
        return;
    }
    self->wait = WAIT_CLUSTER_BARRIER;
    self->line = line;
    wait_here();
}

// Registers of a thread at the launch: as the kernel says, or as many as the threads leave each other.
static uint32_t launch_registers() {
    if (launch.request->registers) return (launch.request->registers + 7) / 8 * 8;  // 255 are 256
    uint32_t most = SM_REGISTERS / launch.n_threads / 8 * 8;
    return most < 256 ? most : 256;
}

static uint32_t free_registers(const Block *block) {
    uint32_t used = 0;
    for (uint32_t g = 0; g < (launch.n_threads + 127) / 128; ++g) {
        uint32_t threads = launch.n_threads - 128 * g;
        used += operations.warpgroups[block->rank * (AK_SIM_MAX_THREADS / 128) + g].registers *
                (threads < 128 ? threads : 128);
    }
    uint32_t all = launch_registers() * launch.n_threads;  // the block's own, not the processor's
    return used > all ? 0 : all - used;
}

static void give_registers(Block *block) {
    for (uint32_t first = 0; first + 128 <= launch.n_threads; first += 128) {
        Fiber *threads = &block->fibers[first];
        Warpgroup *group = warpgroup_of(threads);
        uint32_t wanted = (uint32_t)threads[0].value;
        if (threads[0].wait != WAIT_REGISTERS) continue;
        if ((wanted - group->registers) * 128 > free_registers(block)) continue;
        group->registers = wanted;
        ++operations.progress;
        for (uint32_t t = 0; t < 128; ++t) make_ready(&threads[t]);
    }
}

static bool change_registers(Warpgroup *group, Fiber *threads, uint32_t operation, uint32_t line) {
    uint32_t wanted = (uint32_t)threads[0].request->value;
    if (wanted < 24 || wanted > 256 || wanted % 8) {
        complain(OPERAND_MISUSE, REGISTER_COUNT, line, wanted, 0);
        return true;
    }
    bool more = operation == AK_SIM_REGISTERS_INC;
    if (!more && wanted == 256) {
        complain(OPERAND_MISUSE, REGISTER_KEPT, line, wanted, 0);
        return true;
    }
    if (more ? wanted < group->registers : wanted > group->registers) {
        complain(OPERAND_MISUSE, REGISTER_DIRECTION, line, wanted, group->registers);
        return true;
    }
    if (more && (wanted - group->registers) * 128 > free_registers(threads[0].block)) {
        for (uint32_t t = 0; t < 128; ++t) {
            threads[t].wait = WAIT_REGISTERS;
            threads[t].value = wanted;
        }
        return false;
    }
    group->registers = wanted;
    if (!more) give_registers(threads[0].block);
    return true;
}

static void reset_cluster_state() {
    for (uint32_t rank = 0; rank < launch.request->cluster_blocks; ++rank) {
        for (uint32_t id = 0; id < N_NAMED_BARRIERS; ++id) {
            give_clock(named_barriers[rank][id].clock);
            give_clock(named_barriers[rank][id].last);
        }
        memset(named_barriers[rank], 0, sizeof named_barriers[rank]);
    }
    give_clock(cluster_barrier.arriving);
    give_clock(cluster_barrier.done);
    cluster_barrier = {0, 0, take_clock(), take_clock()};
}
