// The instructions of hopper_abi.h, one after another, and what the launch needs of them: state at
// the start and end of a cluster, progress when no thread can run, words for a deadlock.

enum : uint32_t { IDLE_ROUNDS = 10000 };

static void perform_queued(Operation *operation) {
    if (operation->kind == CP_ASYNC_SIGNAL) {
        perform_signal(operation);
    } else {
        perform_load(operation);
    }
}

// A random pending operation, for random completion.
static void complete_something() {
    if (next_random() % 4) return;
    uint32_t n = 0;
    for (Operation *o = operations.queued.first; o; o = o->next) ++n;
    if (n && next_random() % 2) {
        uint32_t pick = (uint32_t)(next_random() % n);
        Queue kept = {};
        Operation *chosen = nullptr;
        for (uint32_t i = 0; i < n; ++i) {
            Operation *o = take_first(&operations.queued);
            if (i == pick) {
                chosen = o;
            } else {
                append(&kept, o);
            }
        }
        operations.queued = kept;
        perform_queued(chosen);
        return;
    }
    Fiber *self = launch.running;
    for (Operation *o = state_of(self)->stores.first; o; o = o->next) perform_store(o);
    perform_products(warpgroup_of(self));
}

static bool advance_operations() {
    if (operations.queued.first) {
        perform_queued(take_first(&operations.queued));
        return true;
    }
    if (operations.progress != operations.seen_progress) operations.idle_rounds = 0;
    operations.seen_progress = operations.progress;
    if (++operations.idle_rounds > IDLE_ROUNDS) return false;
    bool any = false;
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        Fiber *fiber = &launch.fibers[i];
        if (fiber->wait != WAIT_MBARRIER || !fiber->kind) continue;
        make_ready(fiber);
        any = true;
    }
    return any;
}

static void describe_wait(const Fiber *fiber, WaitRecord *record) {
    if (fiber->wait == WAIT_MBARRIER) {
        const MBarrier *barrier = (const MBarrier *)(uintptr_t)fiber->value;
        record->barrier_offset = barrier->offset;
        record->pending_bytes = barrier->pending_bytes;
        record->parity = fiber->argument;
        record->phase = barrier->phase;
        record->missing = barrier->missing;
        record->count = barrier->count;
    } else if (fiber->wait == WAIT_NAMED_BARRIER) {
        const NamedBarrier *barrier = &named_barriers[fiber->block->rank][fiber->argument];
        record->barrier_offset = fiber->argument;
        record->missing = barrier->threads - barrier->arrived;
        record->count = barrier->threads;
    } else if (fiber->wait == WAIT_CLUSTER_BARRIER) {
        record->missing = launch.n_fibers - launch.n_exited - cluster_barrier.arrived;
        record->count = launch.n_fibers - launch.n_exited;
    } else if (fiber->wait == WAIT_REGISTERS) {
        record->count = (uint32_t)fiber->value;
        record->missing = free_registers(fiber->block);
    }
}

static bool set_up_asynchronous() {
    static Accumulator *accumulators;
    static Operation *pool;
    if (!accumulators) accumulators = (Accumulator *)map_pages(ACCUMULATOR_BYTES);
    if (!pool) pool = (Operation *)map_pages(MAX_OPERATIONS * sizeof(Operation));
    operations.pool = pool;
    operations.free = nullptr;
    operations.used = 0;
    mbarriers.n = 0;
    memset(mbarriers.at, 0, sizeof mbarriers.at);
    memset(mbarriers.all, 0, sizeof mbarriers.all);
    memset(named_barriers, 0, sizeof named_barriers);
    cluster_barrier = {};
    for (uint32_t g = 0; g < N_WARPGROUPS; ++g) {
        operations.warpgroups[g].accumulators = accumulators ? accumulators + g * MAX_ACCUMULATORS : nullptr;
    }
    return accumulators && pool && set_up_clocks() && set_up_history();
}

static void tear_down_asynchronous() {
    if (clocks.pool) munmap(clocks.pool, clocks.pool_bytes);
    if (readers.pool) munmap(readers.pool, readers.bytes);
    clocks.pool = nullptr;
    readers.pool = nullptr;
}

static void start_asynchronous() {
    reset_mbarriers();
    reset_cluster_state();
    reset_clocks();
    operations.queued = {};
    operations.idle_rounds = 0;
    memset(operations.threads, 0, launch.n_fibers * sizeof(ThreadState));
    for (uint32_t rank = 0; rank < launch.request->cluster_blocks; ++rank) {
        for (uint32_t first = 0; first < launch.n_threads; first += 128) {
            Warpgroup *group = warpgroup_of(&launch.blocks[rank].fibers[first]);
            group->n_arrived = group->n_accumulators = group->next_evicted = 0;
            group->products = {};
            group->registers = launch_registers();
        }
    }
}

static void finish_products(Fiber *threads) {
    Warpgroup *group = warpgroup_of(threads);
    while (group->products.first) {
        Operation *o = take_first(&group->products);
        bool committed = o->group < state_of(threads)->open_wgmma_group;
        complain(NEVER_WAITED, committed ? WGMMA_NOT_WAITED : WGMMA_NOT_COMMITTED, o->line, 0, 0);
        give_operation(o);
    }
}

// The cluster has ended: what it left in flight is reported, then performed.
static void finish_asynchronous() {
    launch.running = &launch.fibers[0];
    while (operations.queued.first) perform_queued(take_first(&operations.queued));
    for (uint32_t i = 0; i < launch.n_fibers; ++i) {
        Fiber *fiber = launch.running = &launch.fibers[i];
        ThreadState *state = state_of(fiber);
        while (state->stores.first) {
            Operation *o = take_first(&state->stores);
            uint32_t complaint = o->group < state->open_store_group ? STORE_NOT_WAITED : STORE_NOT_COMMITTED;
            if (!o->read_seen) complain(NEVER_WAITED, complaint, o->line, 0, 0);
            perform_store(o);
            give_operation(o);
        }
        bool copied = false;
        while (state->copies.first) {
            Operation *o = take_first(&state->copies);
            if (!o->signal && !copied) complain(NEVER_WAITED, CP_ASYNC_NOT_WAITED, o->line, 0, 0);
            copied = true;
            give_operation(o);
        }
        if (fiber->thread % 128 == 0) finish_products(fiber);
    }
    launch.running = &launch.fibers[0];
    check_copies_seen();
}

static ak_sim_u64 use_barrier(unsigned operation, const ak_sim_request *r, uint32_t line) {
    if (operation == AK_SIM_MBARRIER_INIT) {
        initialise_mbarrier(r->address, (uint32_t)r->value, line);
        return 0;
    }
    uint64_t address = r->address;
    if (operation == AK_SIM_MBARRIER_ARRIVE_REMOTE) {
        if (r->value >= launch.request->cluster_blocks) {
            complain(OPERAND_MISUSE, CLUSTER_MASK, line, (int64_t)r->value, launch.request->cluster_blocks);
            return 0;
        }
        address = address_in_cluster(r->value, address);
    }
    MBarrier *barrier = use_mbarrier(address, line);
    if (!barrier) return 1;
    switch (operation) {
        case AK_SIM_MBARRIER_ARRIVE:
        case AK_SIM_MBARRIER_ARRIVE_REMOTE:
            arrive(barrier, 0, line);
            return 0;
        case AK_SIM_MBARRIER_ARRIVE_TX:
            arrive(barrier, (int64_t)r->value, line);
            return 0;
        case AK_SIM_MBARRIER_WAIT:
            return wait_for_phase(barrier, (uint32_t)r->value, false, line);
        case AK_SIM_MBARRIER_TRY_WAIT:
            return wait_for_phase(barrier, (uint32_t)r->value, true, line);
        default:
            barrier->valid = false;
            return 0;
    }
}

static ak_sim_u64 use_cluster(unsigned operation, const ak_sim_request *r, uint32_t line) {
    Fiber *self = launch.running;
    switch (operation) {
        case AK_SIM_CLUSTER_ARRIVE:
            arrive_at_cluster(line);
            return 0;
        case AK_SIM_CLUSTER_WAIT:
            wait_for_cluster(line);
            return 0;
        case AK_SIM_CLUSTER_RANK:
            return self->block->rank;
        default:
            if (r->value >= launch.request->cluster_blocks) {
                complain(OPERAND_MISUSE, CLUSTER_MASK, line, (int64_t)r->value, launch.request->cluster_blocks);
                return r->address;
            }
            return address_in_cluster(r->value, r->address);
    }
}

static void use_bulk(unsigned operation, const ak_sim_request *r, uint32_t line) {
    Box box;
    switch (operation) {
        case AK_SIM_TMA_LOAD:
        case AK_SIM_BULK_LOAD:
            return bulk_load(r, operation == AK_SIM_TMA_LOAD, line);
        case AK_SIM_TMA_STORE:
        case AK_SIM_BULK_STORE:
            return bulk_store(r, operation == AK_SIM_TMA_STORE, line);
        case AK_SIM_TMA_PREFETCH:
            decode_tensor_map(r->map, &box, line);
            return;
        case AK_SIM_BULK_COMMIT:
            ++state_of(launch.running)->open_store_group;
            return;
        default:
            bulk_wait((uint32_t)r->value, operation == AK_SIM_BULK_WAIT_READ);
    }
}

static ak_sim_u64 asynchronous(unsigned operation, const ak_sim_request *request, unsigned line) {
    count_step(line);
    if (launch.request->completion == RANDOM_COMPLETION) complete_something();
    Fiber *self = launch.running;
    switch (operation) {
        case AK_SIM_MBARRIER_FENCE_INIT:
            fence_initialisations();
            return 0;
        case AK_SIM_FENCE_PROXY:
            fence_proxy(self);
            return 0;
        case AK_SIM_FENCE_CLUSTER:
            return 0;
        case AK_SIM_WGMMA_FENCE:
            fence_registers();
            return 0;
        case AK_SIM_WGMMA_COMMIT:
            ++state_of(self)->open_wgmma_group;
            return 0;
        case AK_SIM_WGMMA:
        case AK_SIM_WGMMA_WAIT:
        case AK_SIM_REGISTERS_INC:
        case AK_SIM_REGISTERS_DEC:
            return warpgroup_instruction(operation, request, line);
        case AK_SIM_MMA:
        case AK_SIM_LDMATRIX:
        case AK_SIM_STMATRIX:
        case AK_SIM_ELECT:
            return warp_instruction(operation, request, line);
        case AK_SIM_CP_ASYNC:
            copy_asynchronously(request, line);
            return 0;
        case AK_SIM_CP_ASYNC_COMMIT:
            ++state_of(self)->open_copy_group;
            return 0;
        case AK_SIM_CP_ASYNC_WAIT:
            wait_for_copies((uint32_t)request->value);
            return 0;
        case AK_SIM_CP_ASYNC_ARRIVE:
            arrive_after_copies(request->address, line);
            return 0;
        case AK_SIM_BAR_SYNC:
        case AK_SIM_BAR_ARRIVE:
            use_named_barrier(request->numbers[0], request->numbers[1], operation == AK_SIM_BAR_SYNC, line);
            return 0;
        default:
            break;
    }
    if (operation <= AK_SIM_MBARRIER_INVALIDATE) return use_barrier(operation, request, line);
    if (operation >= AK_SIM_CLUSTER_ARRIVE) return use_cluster(operation, request, line);
    use_bulk(operation, request, line);
    return 0;
}
