// Bulk copies: boxes of tensors through tensor maps, and plain runs of bytes. The encoding of a map
// is our own, 16 words of 64 bits; agentkern/runtime/tensor_map.py writes and describes it.

static const uint64_t TENSOR_MAP_MAGIC = 0x3150414d544b4141ull;

static bool bad_map(uint32_t complaint, uint32_t line, int64_t a, int64_t b) {
    complain(OPERAND_MISUSE, complaint, line, a, b);
    return false;
}

static bool decode_tensor_map(const void *map, Box *box, uint32_t line) {
    uint64_t w[16];
    memcpy(w, map, sizeof w);
    if (w[0] != TENSOR_MAP_MAGIC) return bad_map(TENSOR_MAP_NOT_ONE, line, (int64_t)w[0], 0);
    memset(box, 0, sizeof *box);
    box->address = w[1];
    box->rank = w[2] & 0xff;
    box->element_bytes = w[2] >> 8 & 0xff;
    uint64_t swizzle = w[2] >> 16;
    box->swizzle_bytes = swizzle == 0 ? 0 : 16u << (swizzle & 3u);
    box->fill_bits = w[15];
    uint32_t bytes = box->element_bytes, span = box->swizzle_bytes;
    if (box->rank < 1 || box->rank > 5) return bad_map(TENSOR_MAP_FIELD, line, 2, box->rank);
    if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1))) return bad_map(TENSOR_MAP_FIELD, line, 2, bytes);
    if (swizzle > 3) return bad_map(TENSOR_MAP_FIELD, line, 2, (int64_t)swizzle);
    if (box->address % 16) return bad_map(TENSOR_MAP_FIELD, line, 1, (int64_t)box->address);
    for (uint32_t d = 0; d < 5; ++d) {
        uint32_t extent = (d < 4 ? w[12] >> (16 * d) : w[13]) & 0xffff, step = w[13] >> (16 + 8 * d) & 0xff;
        box->extents[d] = w[3 + d];
        box->strides[d] = d == 0 ? bytes : w[7 + d];
        if (d >= box->rank) {
            box->extents[d] = box->counts[d] = box->steps[d] = 1;
            continue;
        }
        if (w[3 + d] == 0 || w[3 + d] > 1ull << 32) return bad_map(TENSOR_MAP_FIELD, line, 3 + d, (int64_t)w[3 + d]);
        if (d && box->strides[d] % 16) return bad_map(TENSOR_MAP_FIELD, line, 7 + d, (int64_t)box->strides[d]);
        if (extent < 1 || extent > 256) return bad_map(TENSOR_MAP_FIELD, line, 12, extent);
        if (step < 1 || step > 8) return bad_map(TENSOR_MAP_FIELD, line, 13, step);
        box->steps[d] = step;
        box->counts[d] = (extent + step - 1) / step;
    }
    uint32_t row_bytes = box->counts[0] * bytes;
    if (row_bytes % 16) return bad_map(TENSOR_MAP_FIELD, line, 12, row_bytes);
    if (span && row_bytes > span) return bad_map(TENSOR_MAP_FIELD, line, 12, row_bytes);
    if (span && row_bytes != span) return bad_map(TENSOR_MAP_NOT_MODELLED, line, row_bytes, span);
    return true;
}

static uint32_t box_bytes(const Box *box) {
    uint32_t n = box->element_bytes;
    for (uint32_t d = 0; d < 5; ++d) n *= box->counts[d];
    return n;
}

// Bits 4.. of an address in shared memory are changed by bits 7..: 1, 2 or 3 of them.
static inline uint64_t swizzled(uint64_t offset, uint32_t span_bytes) {
    if (span_bytes == 0) return offset;
    return offset ^ ((offset >> 7 & (span_bytes / 16 - 1)) << 4);
}

// 16 bytes of shared memory of a box and where they come from.
struct Piece {
    uint64_t shared, address;  // `address` of the first element
    uint32_t first, n, pitch;  // elements [first, n) of the piece lie inside the tensor
};

template <class Visit>
static void for_each_piece(const Box *box, Visit visit) {
    uint32_t each = 16 / box->element_bytes, c[5] = {};
    uint64_t shared = box->shared;
    for (;;) {
        uint64_t address = box->address;
        bool inside = true;
        for (uint32_t d = 1; d < 5; ++d) {
            int64_t at = (int64_t)box->coordinates[d] + (int64_t)c[d] * box->steps[d];
            inside &= at >= 0 && (uint64_t)at < box->extents[d];
            address += (uint64_t)at * box->strides[d];
        }
        for (uint32_t i = 0; i < box->counts[0]; i += each, shared += 16) {
            Piece piece = {swizzled(shared, box->swizzle_bytes), 0, 0, 0, box->steps[0] * box->element_bytes};
            int64_t at = (int64_t)box->coordinates[0] + (int64_t)i * box->steps[0];
            piece.address = address + (uint64_t)at * box->element_bytes;
            for (uint32_t e = 0; inside && e < each; ++e, at += box->steps[0]) {
                if (at < 0) piece.first = e + 1;
                if (at < (int64_t)box->extents[0]) piece.n = e + 1;
            }
            if (piece.first > piece.n) piece.first = piece.n;
            visit(piece);
        }
        uint32_t d = 1;
        while (d < 5 && ++c[d] == box->counts[d]) c[d++] = 0;
        if (d == 5) return;
    }
}

static Space *region_of(uint64_t address) {
    uint64_t index = ((address ^ DEVICE_BASE) >> REGION_SHIFT) - 1;
    return index < launch.request->n_regions ? &launch.regions[index] : nullptr;
}

// Checks and records [address, address + bytes) of global memory in naturally aligned pieces.
static void touch_global(uint64_t address, uint32_t bytes, const Actor *actor) {
    uint32_t access_kind = is_write(actor->kind) ? AK_SIM_WRITE : AK_SIM_READ;
    while (bytes) {
        uint32_t width = 16;
        while (width > bytes || address % width) width /= 2;
        Space *space = region_of(address);
        if (!space) {
            Finding *f = add_finding(OUT_OF_BOUNDS, actor->line, NO_BUFFER, 0);
            if (f) f->access = actor->kind, f->width = width, f->byte_offset = (int64_t)address;
            return;
        }
        uint64_t offset = address - space->device;
        if (!check_windows(space, offset, access_kind | width, actor->line)) return;
        if (space->directory) track_actor(space, offset + shadow_shift(space), width, actor, false);
        address += width;
        bytes -= width;
    }
}

static void touch_piece(const Box *box, const Piece *piece, const Actor *actor) {
    if (piece->first >= piece->n) return;
    if (piece->pitch == box->element_bytes) {
        touch_global(piece->address + piece->first * box->element_bytes,
                     (piece->n - piece->first) * box->element_bytes, actor);
        return;
    }
    for (uint32_t e = piece->first; e < piece->n; ++e) {
        touch_global(piece->address + e * piece->pitch, box->element_bytes, actor);
    }
}

static void touch_shared(Block *block, uint64_t offset, uint32_t width, const Actor *actor) {
    Space *space = &block->shared;
    check_no_mbarrier(block, offset, actor->kind | width, actor->line);
    if (space->directory) track_actor(space, offset + shadow_shift(space), width, actor, false);
}

static uint8_t *host_of(uint64_t address, uint32_t bytes) {
    Space *space = region_of(address);
    if (!space) return nullptr;
    uint64_t offset = address - space->device;
    return offset < space->bytes && space->bytes - offset >= bytes ? space->host + offset : nullptr;
}

static void fill_element(const Box *box, uint8_t *to) {
    memcpy(to, &box->fill_bits, box->element_bytes);
}

static void load_piece(const Box *box, const Piece *piece, uint8_t *shared) {
    uint32_t each = 16 / box->element_bytes;
    for (uint32_t e = 0; e < each; ++e) {
        uint8_t *to = shared + e * box->element_bytes;
        fill_element(box, to);
        if (e < piece->first || e >= piece->n) continue;
        const uint8_t *from = host_of(piece->address + e * piece->pitch, box->element_bytes);
        if (from) memcpy(to, from, box->element_bytes);
    }
}

static void store_piece(const Box *box, const Piece *piece, const uint8_t *shared) {
    for (uint32_t e = piece->first; e < piece->n; ++e) {
        uint8_t *to = host_of(piece->address + e * piece->pitch, box->element_bytes);
        if (to) memcpy(to, shared + e * box->element_bytes, box->element_bytes);
    }
}

// A plain run of bytes is a box of one dimension of 16-byte elements' halves.
static void describe_run(Box *box, uint64_t address, uint32_t bytes) {
    memset(box, 0, sizeof *box);
    box->address = address;
    box->rank = 1;
    box->element_bytes = 8;
    for (uint32_t d = 0; d < 5; ++d) box->extents[d] = box->counts[d] = box->steps[d] = 1;
    box->strides[0] = 8;
    box->extents[0] = box->counts[0] = bytes / 8;
}

static void perform_load(Operation *operation) {
    const Box *box = &operation->box;
    for (uint32_t rank = 0; rank < launch.request->cluster_blocks; ++rank) {
        if (!(operation->block_mask >> rank & 1u)) continue;
        Block *block = &launch.blocks[rank];
        for_each_piece(box, [&](const Piece &piece) {
            load_piece(box, &piece, block->shared.host + piece.shared);
        });
        MBarrier *barrier = find_mbarrier(block, operation->barrier_offset);
        if (!barrier) {
            complain(MBARRIER_MISUSE, MBARRIER_NOT_INITIALISED, operation->line, operation->barrier_offset, 0);
            continue;
        }
        complete_bytes(barrier, operation->bytes, operation->clock, operation->lane, operation->tick,
                       operation->line);
    }
    ++operations.progress;
    give_operation(operation);
}

static void perform_store(Operation *operation) {
    if (operation->performed) return;
    operation->performed = true;
    const Box *box = &operation->box;
    const uint8_t *shared = launch.fibers[operation->fiber].block->shared.host;
    for_each_piece(box, [&](const Piece &piece) { store_piece(box, &piece, shared + piece.shared); });
    ++operations.progress;
}

// The blocks that a copy reaches must live, and their mbarriers be known to the issuer.
static void check_targets(const Operation *operation) {
    for (uint32_t rank = 0; rank < launch.request->cluster_blocks; ++rank) {
        if (!(operation->block_mask >> rank & 1u)) continue;
        check_block_lives(&launch.blocks[rank], operation->line);
        MBarrier *barrier = find_mbarrier(&launch.blocks[rank], operation->barrier_offset);
        if (!barrier) continue;  // reported when the copy ends
        check_init_seen(barrier, operation->clock, operation->line);
        check_init_fenced(barrier, operation->clock, operation->line);
    }
}

static void issue_load(Operation *operation, MBarrier *barrier) {
    Fiber *self = launch.running;
    operation->barrier_offset = barrier->offset;
    operation->bytes = box_bytes(&operation->box);
    operation->clock = take_clock();
    copy_clock(operation->clock, clock_of(self));
    operation->lane = take_lane(operation->clock, self->index, BULK_WRITE);
    operation->tick = clocks.lanes[operation->lane].last_tick;
    next_tick(self);
    check_targets(operation);
    uint32_t agent = clocks.n_fibers + operation->lane;
    Actor reads = {operation->clock, agent, operation->tick, BULK_READ, operation->line, 0};
    Actor writes = {operation->clock, agent, operation->tick, BULK_WRITE, operation->line,
                    swizzle_mark(operation->box.swizzle_bytes)};
    for_each_piece(&operation->box, [&](const Piece &piece) {
        touch_piece(&operation->box, &piece, &reads);
        for (uint32_t rank = 0; rank < launch.request->cluster_blocks; ++rank) {
            if (!(operation->block_mask >> rank & 1u)) continue;
            touch_shared(&launch.blocks[rank], piece.shared, 16, &writes);
        }
    });
    if (happens_now()) {
        perform_load(operation);
    } else {
        append(&operations.queued, operation);
    }
}

static void issue_store(Operation *operation) {
    Fiber *self = launch.running;
    const uint32_t *clock = clock_of(self);
    operation->lane = take_lane(clock, self->index, BULK_READ);
    operation->tick = clocks.lanes[operation->lane].last_tick;
    operation->lane_of_writes = take_lane(clock, self->index, BULK_WRITE);
    operation->tick_of_writes = clocks.lanes[operation->lane_of_writes].last_tick;
    operation->group = state_of(self)->open_store_group;
    Actor reads = {clock, clocks.n_fibers + operation->lane, operation->tick, BULK_READ, operation->line,
                   swizzle_mark(operation->box.swizzle_bytes)};
    Actor writes = {clock, clocks.n_fibers + operation->lane_of_writes, operation->tick_of_writes,
                    BULK_WRITE, operation->line, 0};
    for_each_piece(&operation->box, [&](const Piece &piece) {
        touch_shared(self->block, piece.shared, 16, &reads);
        touch_piece(&operation->box, &piece, &writes);
    });
    append(&state_of(self)->stores, operation);
    if (happens_now()) perform_store(operation);
    next_tick(self);
}

// The shared side of a bulk copy: 16 bytes aligned, 128 for a box, all inside.
static bool place_box(Box *box, uint64_t address, uint32_t alignment, uint32_t line) {
    SharedPlace place = shared_place(address, box_bytes(box), alignment);
    if (!place.block || place.block != launch.running->block) {
        complain(OPERAND_MISUSE, SHARED_ADDRESS, line, (int64_t)place.offset, box_bytes(box));
        return false;
    }
    box->shared = place.offset;
    return true;
}

// Where a box may begin. What breaks these rules is an illegal instruction on the GPU (measured on an H200).
static bool check_coordinates(const Box *box, bool is_store, uint32_t line) {
    int64_t begin = (int64_t)box->coordinates[0] * box->element_bytes;
    if (begin % 16) return bad_map(BOX_COORDINATE, line, box->coordinates[0], begin);
    for (uint32_t d = 0; is_store && d < box->rank; ++d) {
        if (box->coordinates[d] < 0) return bad_map(STORE_COORDINATE, line, d, box->coordinates[d]);
    }
    return true;
}

static bool prepare_box(Box *box, const ak_sim_request *request, bool is_store, uint32_t line) {
    if (!decode_tensor_map(request->map, box, line)) return false;
    if (box->rank != request->numbers[0]) {
        return bad_map(TENSOR_MAP_RANK, line, request->numbers[0], box->rank);
    }
    for (uint32_t d = 0; d < box->rank; ++d) box->coordinates[d] = request->coordinates[d];
    if (!check_coordinates(box, is_store, line)) return false;
    return place_box(box, request->address, 128, line);
}

static bool prepare_run(Box *box, const ak_sim_request *request, uint32_t line) {
    if (request->value % 16 || request->value == 0 || request->value > 1u << 20) {
        complain(OPERAND_MISUSE, BULK_SIZE, line, (int64_t)request->value, 0);
        return false;
    }
    if (request->other % 16 || !region_of(request->other)) {
        complain(OPERAND_MISUSE, BULK_ADDRESS, line, (int64_t)request->other, 0);
        return false;
    }
    describe_run(box, request->other, (uint32_t)request->value);
    return place_box(box, request->address, 16, line);
}

static void bulk_load(const ak_sim_request *request, bool tensor, uint32_t line) {
    uint32_t all = (1u << launch.request->cluster_blocks) - 1;
    uint32_t mask = tensor && request->numbers[1] ? request->numbers[1] : 1u << launch.running->block->rank;
    if (mask & ~all) {
        complain(OPERAND_MISUSE, CLUSTER_MASK, line, mask, launch.request->cluster_blocks);
        return;
    }
    Box box;
    if (!(tensor ? prepare_box(&box, request, false, line) : prepare_run(&box, request, line))) return;
    MBarrier *barrier = use_mbarrier(tensor ? request->other : request->third, line);
    if (!barrier) return;
    Operation *operation = take_operation(BULK_TO_SHARED, line);
    operation->box = box;
    operation->block_mask = mask;
    issue_load(operation, barrier);
}

static void bulk_store(const ak_sim_request *request, bool tensor, uint32_t line) {
    Box box;
    if (!(tensor ? prepare_box(&box, request, true, line) : prepare_run(&box, request, line))) return;
    Operation *operation = take_operation(BULK_TO_GLOBAL, line);
    operation->box = box;
    issue_store(operation);
}

// All but the last `left` groups of the running thread have read their source, or have ended.
static void bulk_wait(uint32_t left, bool read_only) {
    Fiber *self = launch.running;
    ThreadState *state = state_of(self);
    Queue kept = {};
    while (state->stores.first) {
        Operation *operation = take_first(&state->stores);
        bool over = operation->group + left < state->open_store_group;
        if (over) {
            perform_store(operation);
            operation->read_seen = true;
            see_lane(clock_of(self), operation->lane, operation->tick);
        }
        if (over && !read_only) {
            see_lane(clock_of(self), operation->lane_of_writes, operation->tick_of_writes);
            give_operation(operation);
        } else {
            append(&kept, operation);
        }
    }
    state->stores = kept;
}
