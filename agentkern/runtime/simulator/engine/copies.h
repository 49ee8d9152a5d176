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

// The barrier's arrival when the thread's copies so far have ended (.noinc): they end here, for the
// barrier's waiters are the ones that wait for them.
static void arrive_after_copies(uint64_t address, uint32_t line) {
    Fiber *self = launch.running;
    MBarrier *barrier = use_mbarrier(address, line);
    if (!barrier) return;
    ThreadState *state = state_of(self);
    for (Operation *o = state->copies.first; o; o = o->next) {
        perform_copy(o);
        see_lane(barrier->arriving, o->lane, o->tick);
        clocks.lanes[o->lane].waited_at = tick_of(self);
    }
    if (state->copies.last) state->copies.last->signal = 1;  // what follows has a lane of its own
    if (barrier->missing == 0) {
        complain(MBARRIER_MISUSE, MBARRIER_TOO_MANY_ARRIVALS, line, barrier->offset, barrier->count);
        return;
    }
    --barrier->missing;
    end_phase_if_complete(barrier);
}
