// Warp collectives: shuffles, votes, __syncwarp. A lane waits until every lane of its mask has
// arrived with the same operation and mask; the last one to arrive computes everyone's result.

static uint64_t shuffle_result(Fiber *lanes, Fiber *self, uint32_t mask) {
    uint32_t amount = self->argument & 0xffffu, width = self->argument >> 16;
    if (width == 0 || width > 32) width = 32;
    uint32_t lane = self->lane, base = lane & ~(width - 1), last = base + width - 1, source = lane;
    switch (self->kind) {
        case AK_SIM_SHFL_IDX:
            source = base + (amount & (width - 1));
            break;
        case AK_SIM_SHFL_UP:
            if (amount <= lane - base) source = lane - amount;
            break;
        case AK_SIM_SHFL_DOWN:
            if (amount <= last - lane) source = lane + amount;
            break;
        default:
            if (((lane ^ amount) & 31u) <= last) source = (lane ^ amount) & 31u;
    }
    if (mask >> source & 1u) return lanes[source].value;
    report_threads(SHUFFLE_SOURCE, self->thread, self->line, 0, self->thread - lane + source, mask);
    return self->value;
}

static uint64_t vote_result(Fiber *lanes, uint32_t kind, uint32_t mask) {
    uint32_t ballot = 0;
    for (uint32_t l = 0; l < 32; ++l) {
        if (mask >> l & 1u) ballot |= (uint32_t)lanes[l].value << l;
    }
    if (kind == AK_SIM_ANY) return ballot != 0;
    return kind == AK_SIM_ALL ? ballot == mask : ballot;
}

// Every access a lane of the mask made, or had seen, is now seen by all of them.
static void order_lanes(Warp *warp, uint32_t mask) {
    if (warp->sync_epoch != launch.epoch) {
        warp->sync_epoch = launch.epoch;
        warp->time = 0;
        memset(warp->seen, 0, sizeof warp->seen);
    }
    uint32_t now = ++warp->time, merged[32];
    for (uint32_t m = 0; m < 32; ++m) {
        merged[m] = mask >> m & 1u ? now : 0;
        for (uint32_t l = 0; l < 32; ++l) {
            if ((mask >> l & 1u) && warp->seen[l][m] > merged[m]) merged[m] = warp->seen[l][m];
        }
    }
    for (uint32_t l = 0; l < 32; ++l) {
        if (mask >> l & 1u) memcpy(warp->seen[l], merged, sizeof merged);
    }
}

enum : uint32_t { FIRST_WARP_INSTRUCTION = 64 };  // kind: this plus the operation (matrix.h)

static void complete_collective(Warp *warp, Fiber *lanes, uint32_t kind, uint32_t mask) {
    ++launch.n_collectives;
    const Fiber *first = &lanes[__builtin_ctz(mask)];
    for (uint32_t l = 0; l < 32; ++l) {
        if (!(mask >> l & 1u)) continue;
        Fiber *lane = &lanes[l];
        if (lane->line != first->line) {
            report_threads(WARP_DIVERGENCE, lane->thread, lane->line, first->line, first->thread, mask);
        }
        if (kind <= AK_SIM_SHFL_XOR) lane->result = shuffle_result(lanes, lane, mask);
    }
    if (kind >= FIRST_WARP_INSTRUCTION) {
        run_warp_instruction(lanes, kind, mask);
    } else if (kind == AK_SIM_SYNCWARP) {
        if (launch.asynchronous) {
            order_warp(lanes, mask);
        } else if (launch.request->full_checks) {
            order_lanes(warp, mask);
        }
    } else if (kind > AK_SIM_SHFL_XOR) {
        uint64_t result = vote_result(lanes, kind, mask);
        for (uint32_t l = 0; l < 32; ++l) {
            if (mask >> l & 1u) lanes[l].result = result;
        }
    }
    bool backward = launch.request->thread_order == REVERSE;
    for (uint32_t i = 0; i < 32; ++i) {
        uint32_t l = backward ? 31 - i : i;
        if (mask >> l & 1u) make_ready(&lanes[l]);
    }
}

// Completes the collective that `waiting` is in, if every lane of its mask is there or has exited.
static bool try_complete(Fiber *waiting) {
    Warp *warp = &waiting->block->warps[waiting->warp];
    Fiber *lanes = &waiting->block->fibers[waiting->warp * 32];
    uint32_t mask = waiting->mask;
    for (uint32_t rest = mask & ~warp->exited; rest; rest &= rest - 1) {
        const Fiber *lane = &lanes[__builtin_ctz(rest)];
        if (lane->wait != WAIT_WARP_COLLECTIVE || lane->kind != waiting->kind || lane->mask != mask) {
            return false;
        }
    }
    uint32_t absent = mask & warp->exited;
    if (absent) {
        uint32_t gone = waiting->warp * 32 + (uint32_t)__builtin_ctz(absent);
        report_threads(WARP_DIVERGENCE, waiting->thread, waiting->line, 0, gone, absent);
    }
    complete_collective(warp, lanes, waiting->kind, mask & ~absent);
    return true;
}

static ak_sim_u64 collective(unsigned kind, unsigned mask, ak_sim_u64 value, unsigned argument,
                           unsigned line) {
    count_step(line);
    Fiber *self = launch.running;
    if (!(mask >> self->lane & 1u)) {
        report_threads(WARP_DIVERGENCE, self->thread, line, line, self->thread, mask);
        mask |= 1u << self->lane;
    }
    self->kind = kind;
    self->mask = mask;
    self->value = value;
    self->argument = argument;
    self->line = line;
    self->result = value;
    self->wait = WAIT_WARP_COLLECTIVE;
    try_complete(self);
    wait_here();
    return self->result;
}
