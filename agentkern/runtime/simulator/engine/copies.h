// cp.async: 4, 8 or 16 bytes from global to shared memory, in groups of the thread that issues them.
// They go through the generic proxy.

static void perform_copy(Operation *operation) {
    if (operation->performed) return;
    operation->performed = true;
    uint8_t *to = launch.fibers[operation->fiber].block->shared.host + operation->box.shared;
    const uint8_t *from = operation->source_bytes ? host_of(operation->global, operation->source_bytes) : nullptr;
    memset(to, 0, operation->width);
    if (from) memcpy(to, from, operation->source_bytes);
    ++operations.progress;
}

static void copy_asynchronously(const ak_sim_request *request, uint32_t line) {
    Fiber *self = launch.running;
    uint32_t width = request->numbers[0], source_bytes = (uint32_t)request->value;
    SharedPlace place = shared_place(request->address, width, width);
    if (!place.block) {
        complain(OPERAND_MISUSE, SHARED_ADDRESS, line, (int64_t)place.offset, width);
        return;
    }
    if (source_bytes > width || (source_bytes && request->other % width)) {
        complain(OPERAND_MISUSE, CP_ASYNC_SOURCE, line, (int64_t)request->other, source_bytes);
        return;
    }
    ThreadState *state = state_of(self);
    const uint32_t *clock = clock_of(self);
    Operation *operation = take_operation(CP_ASYNC, line);
    operation->group = state->open_copy_group;
    operation->number = ++state->n_copies;
    Operation *last = state->copies.last;
    if (last && last->group == operation->group && !last->signal) {  // a group shares a lane
        operation->lane = last->lane;
        operation->tick = last->tick;
    } else {
        operation->lane = take_lane(clock, self->index, CP_ASYNC_WRITE);
        operation->tick = clocks.lanes[operation->lane].last_tick;
    }
    operation->box.shared = place.offset;
    operation->global = request->other;
    operation->width = width;
    operation->source_bytes = source_bytes;
    uint32_t agent = clocks.n_fibers + operation->lane;
    Actor reads = {clock, agent, operation->tick, CP_ASYNC_READ, line, 0};
    Actor writes = {clock, agent, operation->tick, CP_ASYNC_WRITE, line, 0};
    if (source_bytes) touch_global(request->other, source_bytes, &reads);
    touch_shared(place.block, place.offset, width, &writes);
    append(&state->copies, operation);
    if (happens_now()) perform_copy(operation);
}

// Ends the copies of groups below `limit`; the running thread sees them.
static void end_copies(ThreadState *state, Fiber *self, uint32_t limit) {
    while (state->copies.first && state->copies.first->group < limit) {
        Operation *operation = take_first(&state->copies);
        perform_copy(operation);
        see_lane(clock_of(self), operation->lane, operation->tick);
        clocks.lanes[operation->lane].waited_at = tick_of(self);
        give_operation(operation);
    }
}

static void wait_for_copies(uint32_t left) {
    ThreadState *state = state_of(launch.running);
    uint32_t open = state->open_copy_group;
    end_copies(state, launch.running, open > left ? open - left : 0);
}

// An arrival that is made when the thread's copies so far have ended (.noinc).
static void perform_signal(Operation *signal) {
    Fiber *fiber = &launch.fibers[signal->fiber];
    for (Operation *o = state_of(fiber)->copies.first; o && o->number <= signal->number; o = o->next) perform_copy(o);
    MBarrier *barrier = find_mbarrier(fiber->block, signal->barrier_offset);
    ++operations.progress;
    if (!barrier) {
        complain(MBARRIER_MISUSE, MBARRIER_NOT_INITIALISED, signal->line, signal->barrier_offset, 0);
    } else if (barrier->missing == 0) {
        complain(MBARRIER_MISUSE, MBARRIER_TOO_MANY_ARRIVALS, signal->line, barrier->offset, barrier->count);
    } else {
        join_clock(barrier->arriving, signal->clock);
        --barrier->missing;
        end_phase_if_complete(barrier);
    }
    give_operation(signal);
}

static void arrive_after_copies(uint64_t address, uint32_t line) {
    Fiber *self = launch.running;
    MBarrier *barrier = use_mbarrier(address, line);
    if (!barrier) return;
    check_phase_seen(barrier, line);
    ThreadState *state = state_of(self);
    Operation *signal = take_operation(CP_ASYNC_SIGNAL, line);
    signal->barrier_offset = barrier->offset;
    signal->number = state->n_copies;
    signal->clock = take_clock();
    for (Operation *o = state->copies.first; o; o = o->next) {
        see_lane(signal->clock, o->lane, o->tick);
        clocks.lanes[o->lane].waited_at = tick_of(self);
        o->signal = 1;  // what follows has a lane of its own
    }
    if (happens_now()) {
        perform_signal(signal);
    } else {
        append(&operations.queued, signal);
    }
}
