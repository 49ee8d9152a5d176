// Which fiber runs next. Fibers switch straight to the next ready one; the main context gets
// control when none is ready, that is when the block has ended or is stuck.

static inline void make_ready(Fiber *fiber) {
    fiber->wait = WAIT_NONE;
    uint32_t slot = launch.ready_head + launch.ready_count++;
    launch.ready[slot % MAX_FIBERS] = fiber->index;
}

static inline Fiber *take_ready() {
    if (launch.ready_count == 0) return nullptr;
    if (launch.request->thread_order == SEEDED) {
        uint32_t pick = (launch.ready_head + next_random() % launch.ready_count) % MAX_FIBERS;
        uint32_t head = launch.ready_head % MAX_FIBERS;
        uint32_t swapped = launch.ready[pick];
        launch.ready[pick] = launch.ready[head];
        launch.ready[head] = swapped;
    }
    --launch.ready_count;
    return &launch.fibers[launch.ready[launch.ready_head++ % MAX_FIBERS]];
}

static inline void resume(Context *from, Fiber *next) {
    launch.running = next;
    *launch.current = &next->view;
    ++launch.n_switches;
    switch_context(from, &next->context);
}

// Leaves the running fiber, whose wait state is set, and returns when it has been made ready.
static void wait_here() {
    Fiber *self = launch.running;
    Fiber *next = take_ready();
    while (!next && launch.asynchronous && advance_operations()) next = take_ready();
    if (next == self) return;
    if (next) {
        resume(&self->context, next);
    } else {
        switch_context(&self->context, &launch.main_context);
    }
}

static void order_threads() {
    uint32_t n = launch.n_threads;
    for (uint32_t i = 0; i < n; ++i) {
        switch (launch.request->thread_order) {
            case REVERSE:
                launch.order[i] = n - 1 - i;
                break;
            case WARP_INTERLEAVED:  // lane 0 of every warp, then lane 1, ...
                launch.order[i] = i % (n / 32) * 32 + i / (n / 32);
                break;
            default:
                launch.order[i] = i;
        }
    }
}

static void count_step(uint32_t line) {
    launch.last_line = line;
    if (++launch.steps <= launch.step_limit) return;
    add_finding(launch.expired ? TIME_LIMIT : STEP_LIMIT, line, NO_BUFFER, 0);
    stop_launch();
}
