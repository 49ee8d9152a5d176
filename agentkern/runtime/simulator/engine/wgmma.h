// wgmma: products of a warpgroup. Operands in shared memory are found through the 64-bit descriptor
// alone. The four warps need not have met: what a warp's rows of A need, that warp must know; what B
// needs, each of the four.

enum : uint32_t { SHARED_WINDOW_BYTES = 1024 };  // where __cvta_generic_to_shared puts byte 0

struct MatrixLayout {
    int64_t start, leading, stride;  // offsets in shared memory
    uint32_t span;                   // of the swizzle, 0: none
    bool transposed;
};

static bool decode_descriptor(uint64_t bits, bool transposed, MatrixLayout *layout, uint32_t line) {
    static const uint32_t SPANS[] = {0, 128, 64, 32};
    layout->start = (int64_t)((bits & 0x3fff) << 4) - SHARED_WINDOW_BYTES;
    layout->leading = (int64_t)((bits >> 16 & 0x3fff) << 4);
    layout->stride = (int64_t)((bits >> 32 & 0x3fff) << 4);
    layout->span = SPANS[bits >> 62];
    layout->transposed = transposed;
    if (bits & ~0xc00e3fff3fff3fffull) {
        complain(OPERAND_MISUSE, DESCRIPTOR_BITS, line, (int64_t)bits, 0);
        return false;
    }
    if (bits >> 49 & 7u) {
        complain(OPERAND_MISUSE, DESCRIPTOR_BASE_OFFSET, line, (int64_t)(bits >> 49 & 7u), 0);
        return false;
    }
    return true;
}

// The offset of 16 bytes of the matrix. K-major: row `outer`, chunk `inner` of its k. MN-major: eight
// rows from 8 * `outer`, at k = `inner`.
static int64_t chunk_offset(const MatrixLayout *m, uint32_t outer, uint32_t inner) {
    int64_t at;
    if (!m->transposed) {
        at = m->start + outer / 8 * m->stride;
        at += m->span ? outer % 8 * m->span + inner * 16 : inner * m->leading + outer % 8 * 16;
    } else if (!m->span) {
        at = m->start + outer * m->stride + inner / 8 * m->leading + inner % 8 * 16;
    } else {
        uint32_t units = m->span / 16;
        at = m->start + outer % units * 16 + outer / units * m->leading + inner % 8 * m->span +
             inner / 8 * m->stride;
    }
    return at < 0 ? at : (int64_t)swizzled((uint64_t)at, m->span);
}

struct ChunkGrid {
    uint32_t outer, inner;
};
static ChunkGrid chunk_grid(const MatrixLayout *m, uint32_t rows, uint32_t k, uint32_t bytes) {
    return m->transposed ? ChunkGrid{rows / 8, k} : ChunkGrid{rows, k * bytes / 16};
}

static bool touch_matrix(const MatrixLayout *m, ChunkGrid grid, uint32_t first, uint32_t end, const Actor *actor) {
    Block *block = launch.running->block;
    for (uint32_t outer = first; outer < end; ++outer) {
        for (uint32_t inner = 0; inner < grid.inner; ++inner) {
            int64_t at = chunk_offset(m, outer, inner);
            if (at < 0 || (uint64_t)at + 16 > block->shared.bytes) {
                complain(OPERAND_MISUSE, DESCRIPTOR_ADDRESS, actor->line, at, 0);
                return false;
            }
            touch_shared(block, (uint64_t)at, 16, actor);
        }
    }
    return true;
}

// Calls store(row, k, operand) for every element.
template <class Store>
static void read_matrix(const uint8_t *shared, const MatrixLayout *m, ChunkGrid grid, uint32_t format, Store store) {
    uint32_t bytes = PRODUCT_FORMATS[format].bytes, each = 16 / bytes;
    for (uint32_t outer = 0; outer < grid.outer; ++outer) {
        for (uint32_t inner = 0; inner < grid.inner; ++inner) {
            const uint8_t *chunk = shared + chunk_offset(m, outer, inner);
            for (uint32_t e = 0; e < each; ++e) {
                uint32_t code = 0;
                memcpy(&code, chunk + e * bytes, bytes);
                Operand operand = decode_operand(code, format);
                if (m->transposed) {
                    store(outer * each + e, inner, operand);
                } else {
                    store(outer, inner * each + e, operand);
                }
            }
        }
    }
}

static void perform_product(Operation *operation) {
    static StepColumns columns;
    static Operand rows[64][MAX_STEP_K];
    static uint32_t c[MAX_STEP_N];
    if (operation->performed) return;
    operation->performed = true;
    ++operations.progress;
    const Product *p = &operation->product;
    StepShape shape = {p->n, p->k, p->format_a, p->format_b};
    const uint8_t *shared = launch.fibers[operation->fiber].block->shared.host;
    MatrixLayout a = {}, b = {};
    if (!p->a_in_registers) {
        decode_descriptor(p->descriptor_a, p->a_transposed, &a, operation->line);
        ChunkGrid grid = chunk_grid(&a, 64, p->k, PRODUCT_FORMATS[p->format_a].bytes);
        read_matrix(shared, &a, grid, p->format_a, [&](uint32_t m, uint32_t k, Operand o) { rows[m][k] = o; });
    } else {
        for (uint32_t t = 0; t < 128; ++t) {
            decode_fragment(operation->fragment_values[t], t % 32, shape, rows + t / 32 * 16);
        }
    }
    memset(columns.special, 0, sizeof columns.special);
    decode_descriptor(p->descriptor_b, p->b_transposed, &b, operation->line);
    ChunkGrid grid = chunk_grid(&b, p->n, p->k, PRODUCT_FORMATS[p->format_b].bytes);
    read_matrix(shared, &b, grid, p->format_b,
                [&](uint32_t n, uint32_t k, Operand o) { set_column(&columns, k, n, o); });
    for (uint32_t m = 0; m < 64; ++m) {
        uint32_t *const *arrays = operation->accumulator->arrays + m / 16 * 32 + m % 8 * 4;
        uint32_t half = m / 8 % 2 * 2;
        memset(c, 0, sizeof c);
        for (uint32_t n = 0; operation->scale[m / 16] && n < p->n; ++n) {
            c[n] = arrays[n % 8 / 2][n / 8 * 4 + half + n % 2];
        }
        step_row(rows[m], &columns, shape, c);
        for (uint32_t n = 0; n < p->n; ++n) arrays[n % 8 / 2][n / 8 * 4 + half + n % 2] = c[n];
    }
}

static void keep_values(Accumulator *accumulator, uint32_t thread) {
    memcpy(accumulator->values[thread], accumulator->arrays[thread], accumulator->n_registers * 4);
}
static void keep_all_values(Accumulator *accumulator) {
    for (uint32_t t = 0; t < 128; ++t) keep_values(accumulator, t);
}
static void check_values(const Accumulator *accumulator, uint32_t complaint, uint32_t line) {
    for (uint32_t t = 0; t < 128; ++t) {
        for (uint32_t r = 0; r < accumulator->n_registers; ++r) {
            if (accumulator->values[t][r] == accumulator->arrays[t][r]) continue;
            complain(REGISTERS_IN_FLIGHT, complaint, line, t, r);
            return;
        }
    }
}

static Accumulator *find_accumulator(Warpgroup *group, Fiber *threads, uint32_t n_registers, uint32_t line) {
    uint32_t *key = (uint32_t *)threads[0].request->registers[0];
    for (uint32_t i = 0; i < group->n_accumulators; ++i) {
        Accumulator *known = &group->accumulators[i];
        if (known->key != key || known->n_registers != n_registers) continue;
        check_values(known, known->n_in_flight ? ACCUMULATOR_TOUCHED : ACCUMULATOR_NOT_FENCED, line);
        return known;
    }
    for (uint32_t t = 0; t < 128; ++t) {
        if (state_of(&threads[t])->wgmma_fenced) continue;
        complain(REGISTERS_IN_FLIGHT, ACCUMULATOR_NOT_FENCED, line, t, 0);
        break;
    }
    uint32_t slot = group->n_accumulators;
    if (slot < MAX_ACCUMULATORS) {
        ++group->n_accumulators;
    } else {
        do {
            slot = group->next_evicted++ % MAX_ACCUMULATORS;
        } while (group->accumulators[slot].n_in_flight && group->next_evicted % 64);
    }
    Accumulator *fresh = &group->accumulators[slot];
    fresh->key = key;
    fresh->n_registers = n_registers;
    fresh->n_in_flight = 0;
    for (uint32_t t = 0; t < 128; ++t) fresh->arrays[t] = (uint32_t *)threads[t].request->registers[0];
    return fresh;
}

// A fragment of A that an operation in flight still reads must not have changed.
static void check_fragments(const Warpgroup *group, Fiber *threads, uint32_t line) {
    for (const Operation *o = group->products.first; o; o = o->next) {
        if (!o->product.a_in_registers) continue;
        for (uint32_t t = 0; t < 128; ++t) {
            if (o->fragments[t] != threads[t].request->registers[1]) continue;
            if (memcmp(o->fragments[t], o->fragment_values[t], 16) == 0) continue;
            complain(REGISTERS_IN_FLIGHT, FRAGMENT_TOUCHED, line, t, o->line);
            return;
        }
    }
}

static void track_product(Operation *operation, Fiber *threads) {
    uint32_t *of_warps[4], *all = take_clock();
    for (uint32_t w = 0; w < 4; ++w) {
        of_warps[w] = take_clock();
        for (uint32_t l = 0; l < 32; ++l) join_clock(of_warps[w], clock_of(&threads[w * 32 + l]));
        w == 0 ? copy_clock(all, of_warps[0]) : meet_clock(all, of_warps[w]);
    }
    operation->lane = take_lane(all, threads[0].index, WGMMA_READ);
    operation->tick = clocks.lanes[operation->lane].last_tick;
    const Product *p = &operation->product;
    uint32_t agent = clocks.n_fibers + operation->lane;
    MatrixLayout a, b;
    bool sound = true;
    if (!p->a_in_registers) {
        sound = decode_descriptor(p->descriptor_a, p->a_transposed, &a, operation->line);
        ChunkGrid grid = chunk_grid(&a, 64, p->k, PRODUCT_FORMATS[p->format_a].bytes);
        for (uint32_t w = 0; w < 4 && sound; ++w) {
            Actor actor = {of_warps[w], agent, operation->tick, WGMMA_READ, operation->line, swizzle_mark(a.span)};
            sound = touch_matrix(&a, grid, grid.outer / 4 * w, grid.outer / 4 * (w + 1), &actor);
        }
    }
    sound = sound && decode_descriptor(p->descriptor_b, p->b_transposed, &b, operation->line);
    if (sound) {
        Actor actor = {all, agent, operation->tick, WGMMA_READ, operation->line, swizzle_mark(b.span)};
        ChunkGrid grid = chunk_grid(&b, p->n, p->k, PRODUCT_FORMATS[p->format_b].bytes);
        sound = touch_matrix(&b, grid, 0, grid.outer, &actor);
    }
    operation->performed = !sound;  // reported; the accumulators stay as they are
    for (uint32_t w = 0; w < 4; ++w) give_clock(of_warps[w]);
    give_clock(all);
}

// Products of a warpgroup happen in order: every one that has not.
static void perform_products(Warpgroup *group) {
    for (Operation *o = group->products.first; o; o = o->next) {
        if (o->performed) continue;
        check_values(o->accumulator, ACCUMULATOR_TOUCHED, o->line);
        perform_product(o);
        keep_all_values(o->accumulator);
    }
}

static void issue_product(Warpgroup *group, Fiber *threads, uint32_t line) {
    const ak_sim_request *first = threads[0].request;
    check_fragments(group, threads, line);
    Accumulator *accumulator = find_accumulator(group, threads, first->numbers[0] / 2, line);
    Operation *operation = take_operation(WGMMA, line);
    operation->accumulator = accumulator;
    operation->fiber = threads[0].index;
    operation->group = state_of(&threads[0])->open_wgmma_group;
    bool in_registers = first->registers[1] != nullptr;
    operation->product = {first->address, first->other, first->numbers[0], first->numbers[1], first->numbers[2],
                          first->numbers[3], in_registers, first->numbers[4] != 0, first->numbers[5] != 0, false};
    for (uint32_t t = 0; t < 128; ++t) {
        operation->scale[t / 32] = threads[t].request->value != 0;
        operation->fragments[t] = (const uint32_t *)threads[t].request->registers[1];
        if (in_registers) memcpy(operation->fragment_values[t], operation->fragments[t], 16);
    }
    track_product(operation, threads);
    append(&group->products, operation);
    ++accumulator->n_in_flight;
    if (accumulator->n_in_flight == 1) keep_all_values(accumulator);
    if (happens_now()) perform_products(group);
}

// Ends the products of all but the last `left` committed groups, in order.
static void end_products(Warpgroup *group, Fiber *threads, uint32_t left) {
    uint32_t open = state_of(&threads[0])->open_wgmma_group;
    while (group->products.first && group->products.first->group + left < open) {
        Operation *operation = group->products.first;
        Accumulator *accumulator = operation->accumulator;
        check_values(accumulator, ACCUMULATOR_TOUCHED, operation->line);
        perform_product(operation);
        keep_all_values(accumulator);
        --accumulator->n_in_flight;
        for (uint32_t t = 0; t < 128; ++t) {
            see_lane(clock_of(&threads[t]), operation->lane, operation->tick);
        }
        give_operation(take_first(&group->products));
    }
    for (uint32_t t = 0; t < 128; ++t) state_of(&threads[t])->wgmma_fenced = false;
}

// Registers that a thread has written are ready for the products that follow.
static void fence_registers() {
    Fiber *self = launch.running;
    Warpgroup *group = warpgroup_of(self);
    state_of(self)->wgmma_fenced = true;
    for (uint32_t i = 0; i < group->n_accumulators; ++i) {
        if (group->accumulators[i].n_in_flight == 0) keep_values(&group->accumulators[i], self->thread % 128);
    }
}

static bool same_product(const ak_sim_request *a, const ak_sim_request *b) {
    return a->address == b->address && a->other == b->other && a->value == b->value &&
           memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

// All 128 threads are here; those that do not do the same are reported. At different instructions
// nothing sensible can follow.
static void check_uniform(Fiber *threads) {
    for (uint32_t t = 1; t < 128; ++t) {
        Fiber *thread = &threads[t];
        bool other_place = thread->kind != threads[0].kind || thread->line != threads[0].line;
        if (!other_place && same_product(thread->request, threads[0].request)) continue;
        uint32_t complaint = other_place ? WARPGROUP_OPERATION : WARPGROUP_ARGUMENT;
        complain(WARPGROUP_DIVERGENCE, complaint, thread->line, thread->thread, threads[0].line);
        if (other_place) stop_launch();
        return;
    }
}

// False if the warpgroup stays where it is.
static bool change_registers(Warpgroup *group, Fiber *threads, uint32_t operation, uint32_t line);

static void run_warpgroup(Warpgroup *group, Fiber *threads) {
    uint32_t operation = threads[0].kind, line = threads[0].line;
    check_uniform(threads);
    bool goes_on = true;
    switch (operation) {
        case AK_SIM_WGMMA:
            issue_product(group, threads, line);
            break;
        case AK_SIM_WGMMA_WAIT:
            end_products(group, threads, (uint32_t)threads[0].request->value);
            break;
        default:
            goes_on = change_registers(group, threads, operation, line);
    }
    for (uint32_t t = 0; goes_on && t < 128; ++t) make_ready(&threads[t]);
}

static ak_sim_u64 warpgroup_instruction(uint32_t operation, const ak_sim_request *request, uint32_t line) {
    Fiber *self = launch.running;
    Warpgroup *group = warpgroup_of(self);
    self->kind = operation;
    self->request = request;
    self->line = line;
    self->wait = WAIT_WARPGROUP;
    if (++group->n_arrived == 128) {
        group->n_arrived = 0;
        run_warpgroup(group, &self->block->fibers[self->thread / 128 * 128]);
    }
    wait_here();
    return 0;
}
