// __syncthreads and its relatives: all threads of the block, at the same call. A thread that has
// returned, or that waits at another call, is divergence; the barrier then completes as hardware
// would, with those that live.

static void complete_barrier(Block *block) {
    ++launch.n_barriers;
    BlockBarrier barrier = block->barrier;
    if (block->n_exited) {
        uint32_t gone = 0;
        while (block->fibers[gone].wait != EXITED) ++gone;
        report_threads(BARRIER_DIVERGENCE, barrier.first_thread, barrier.first_line, 0, gone,
                       block->n_exited);
    }
    memset(&block->barrier, 0, sizeof block->barrier);
    if (launch.asynchronous) {
        order_block(block);
    } else {
        ++launch.epoch;
    }
    for (uint32_t i = 0; i < launch.n_threads; ++i) {
        Fiber *fiber = &block->fibers[launch.order[i]];
        if (fiber->wait != WAIT_BLOCK_BARRIER) continue;
        switch (fiber->kind) {
            case AK_SIM_BARRIER_OR:
                fiber->result = barrier.n_true != 0;
                break;
            case AK_SIM_BARRIER_AND:
                fiber->result = barrier.n_true == barrier.arrived;
                break;
            default:
                fiber->result = barrier.n_true;
        }
        make_ready(fiber);
    }
}

static int block_barrier(unsigned kind, int predicate, unsigned line) {
    count_step(line);
    Fiber *self = launch.running;
    self->kind = kind;
    self->line = line;
    self->wait = WAIT_BLOCK_BARRIER;
    Block *block = self->block;
    BlockBarrier *barrier = &block->barrier;
    if (barrier->arrived == 0) {
        barrier->first_line = line;
        barrier->first_kind = kind;
        barrier->first_thread = self->thread;
    } else if (barrier->first_line != line || barrier->first_kind != kind) {
        report_threads(BARRIER_DIVERGENCE, self->thread, line, barrier->first_line,
                       barrier->first_thread, 0);
    }
    barrier->n_true += predicate != 0;
    if (++barrier->arrived == launch.n_threads - block->n_exited) {
        complete_barrier(block);
    }
    wait_here();
    return (int)self->result;
}

// Called when the running fiber has returned from the kernel: others may now be complete.
static void leave_block() {
    Fiber *self = launch.running;
    Block *block = self->block;
    Warp *warp = &block->warps[self->warp];
    self->wait = EXITED;
    ++launch.n_exited;
    ++block->n_exited;
    warp->exited |= 1u << self->lane;
    for (uint32_t l = 0; l < 32; ++l) {
        Fiber *other = &block->fibers[self->warp * 32 + l];
        if (other->wait == WAIT_WARP_COLLECTIVE && (other->mask >> self->lane & 1u)) {
            try_complete(other);
        }
    }
    uint32_t arrived = block->barrier.arrived;
    if (arrived && arrived == launch.n_threads - block->n_exited) {
        complete_barrier(block);
    }
    if (launch.asynchronous) end_cluster_barrier_if_complete();
}
