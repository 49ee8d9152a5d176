// Shadow memory: who last wrote and who last read each byte, in this launch. Finds races between
// the threads of a block (same barrier epoch), between blocks, and reads of unwritten shared bytes.
//
// A chunk covers 4096 bytes with one cell per granule. The granule starts as the width of the first
// access (16 bytes for vector kernels) and is halved when a narrower access comes, so the answer is
// byte-exact while wide accesses cost one cell. Epoch 0 means never.
struct Cell {
    uint32_t write_epoch, write_who;  // who: thread << 22 | stamp
    uint32_t read_epoch, read_who;    // who: warp << 26 | several warps << 25 | stamp
    uint32_t read_lanes;
    uint32_t earlier_read_epoch;  // the last read by an earlier block
    uint16_t write_line, read_line, earlier_read_line;  // read_line: of the first of the readers
    uint16_t read_only_path;
};

struct Chunk {
    uint32_t log2_granule, reserved;
    Cell *cells;
};

enum : uint32_t { STAMP_MASK = (1u << 22) - 1, SEVERAL_WARPS = 1u << 25 };

static void *take_arena(size_t bytes) {
    if (launch.arena_used + bytes > launch.arena_bytes) {
        add_finding(OUT_OF_SHADOW, launch.last_line, NO_BUFFER, 0);
        stop_launch();
    }
    void *p = launch.arena + launch.arena_used;
    launch.arena_used += (bytes + 63) & ~(size_t)63;
    return p;
}

static void refine_chunk(Chunk *chunk, uint32_t log2_granule) {
    uint32_t n_old = CHUNK_BYTES >> chunk->log2_granule, n_new = CHUNK_BYTES >> log2_granule;
    Cell *cells = (Cell *)take_arena(n_new * sizeof(Cell));
    for (uint32_t i = 0; i < n_new; ++i) cells[i] = chunk->cells[i / (n_new / n_old)];
    chunk->cells = cells;
    chunk->log2_granule = log2_granule;
}

static Chunk *chunk_at(Space *space, uint64_t offset, uint32_t log2_width) {
    Chunk *chunk = space->directory[offset / CHUNK_BYTES];
    if (!chunk) {
        chunk = (Chunk *)take_arena(sizeof(Chunk));
        chunk->log2_granule = log2_width;
        chunk->cells = (Cell *)take_arena((CHUNK_BYTES >> log2_width) * sizeof(Cell));
        space->directory[offset / CHUNK_BYTES] = chunk;
    } else if (chunk->log2_granule > log2_width) {
        refine_chunk(chunk, log2_width);
    }
    return chunk;
}

struct Access {
    Fiber *self;
    Space *space;
    uint64_t offset;  // in the shadow
    uint32_t what, line;
};

static void report_at(uint32_t kind, const Access *access, uint64_t offset) {
    Place place = locate(access->space, offset - shadow_shift(access->space));
    report_access(kind, access->what, access->line, place.space_index, place.byte_offset);
}

struct Other {
    uint32_t epoch;
    int32_t thread;  // -1: not kept, in another warp or block
    uint32_t line, kind;
};

static void report_race(const Access *access, uint64_t offset, Other other) {
    bool blocks = other.epoch < launch.block_epoch;
    Place place = locate(access->space, offset - shadow_shift(access->space));
    Finding *f = add_finding(blocks ? RACE_BLOCKS : RACE_THREADS, access->line, place.space_index,
                             other.line);
    if (!f) return;
    f->access = access->what & AK_SIM_KIND;
    f->width = access->what & AK_SIM_WIDTH;
    f->byte_offset = place.byte_offset;
    f->other_block = block_of_epoch(other.epoch);
    f->other_thread = other.thread;
    f->other_access = other.kind;
}

// Whether an access of `thread`, stamped in this epoch, happened before the running thread's next.
static inline bool seen_by(const Fiber *self, uint32_t thread, uint32_t stamp) {
    if (thread == self->thread) return true;
    if (thread >> 5 != self->warp) return false;
    const Warp *warp = &self->block->warps[self->warp];
    return warp->sync_epoch == launch.epoch && stamp < warp->seen[self->lane][thread & 31u];
}

static inline uint32_t stamp_of(const Fiber *self) {
    const Warp *warp = &self->block->warps[self->warp];
    return warp->sync_epoch == launch.epoch ? warp->time & STAMP_MASK : 0;
}

static inline void check_writer(const Access *access, const Cell *cell, uint64_t offset) {
    uint32_t thread = cell->write_who >> 22;
    if (cell->write_epoch >= launch.block_epoch) {
        if (cell->write_epoch != launch.epoch) return;
        if (seen_by(access->self, thread, cell->write_who & STAMP_MASK)) return;
    }
    report_race(access, offset, {cell->write_epoch, (int32_t)thread, cell->write_line, AK_SIM_WRITE});
}

static void check_readers(const Access *access, const Cell *cell, uint64_t offset) {
    uint32_t warp = cell->read_who >> 26, lanes = cell->read_lanes;
    uint32_t reader = warp * 32 + (uint32_t)__builtin_ctz(lanes | 0x80000000u);
    Other other = {cell->read_epoch, (int32_t)reader, cell->read_line, AK_SIM_READ};
    if (cell->read_epoch < launch.block_epoch) {
        report_race(access, offset, other);
    } else if (cell->read_epoch == launch.epoch) {
        if (cell->read_who & SEVERAL_WARPS || warp != access->self->warp) {
            if (warp == access->self->warp) other.thread = -1;  // it is one of another warp
            report_race(access, offset, other);
            return;
        }
        for (uint32_t rest = lanes & ~(1u << access->self->lane); rest; rest &= rest - 1) {
            uint32_t thread = warp * 32 + (uint32_t)__builtin_ctz(rest);
            if (seen_by(access->self, thread, cell->read_who & STAMP_MASK)) continue;
            other.thread = (int32_t)thread;
            report_race(access, offset, other);
            return;
        }
    }
}

static inline void track_write(const Access *access, Cell *cell, uint64_t offset, uint32_t stamp) {
    if (cell->write_epoch) check_writer(access, cell, offset);
    if (cell->read_epoch) {
        check_readers(access, cell, offset);
        if (cell->earlier_read_epoch) {
            report_race(access, offset,
                        {cell->earlier_read_epoch, -1, cell->earlier_read_line, AK_SIM_READ});
        }
        if (cell->read_only_path) report_at(READ_ONLY_PATH, access, offset);
    }
    Cell written = {launch.epoch, access->self->thread << 22 | stamp, 0, 0, 0, 0, 0, 0, 0, 0};
    written.write_line = (uint16_t)(access->line < 0xffffu ? access->line : 0xffffu);
    *cell = written;
}

static inline void track_read(const Access *access, Cell *cell, uint64_t offset, uint32_t stamp) {
    const Fiber *self = access->self;
    bool read_only = (access->what & AK_SIM_KIND) == AK_SIM_READ_ONLY;
    if (cell->write_epoch) {
        check_writer(access, cell, offset);
        if (read_only) report_at(READ_ONLY_PATH, access, offset);
    }
    if (cell->read_epoch == launch.epoch) {
        if (cell->read_who >> 26 == self->warp) {
            cell->read_lanes |= 1u << self->lane;
            cell->read_who = (cell->read_who & ~(uint32_t)STAMP_MASK) | stamp;
        } else {
            cell->read_who |= SEVERAL_WARPS;
        }
    } else {
        if (cell->read_epoch && cell->read_epoch < launch.block_epoch) {
            cell->earlier_read_epoch = cell->read_epoch;
            cell->earlier_read_line = cell->read_line;
        }
        cell->read_epoch = launch.epoch;
        cell->read_who = self->warp << 26 | stamp;
        cell->read_lanes = 1u << self->lane;
        cell->read_line = (uint16_t)(access->line < 0xffffu ? access->line : 0xffffu);
    }
    cell->read_only_path |= read_only;
}

// `offset` is a multiple of the width, which is a power of two up to 16.
static void track(const Access *access) {
    uint32_t width = access->what & AK_SIM_WIDTH, log2_width = (uint32_t)__builtin_ctz(width);
    Chunk *chunk = chunk_at(access->space, access->offset, log2_width);
    uint32_t in_chunk = (uint32_t)(access->offset % CHUNK_BYTES);
    uint32_t first = in_chunk >> chunk->log2_granule, stamp = stamp_of(access->self);
    uint32_t n_cells = width >> chunk->log2_granule;
    bool write = (access->what & AK_SIM_KIND) == AK_SIM_WRITE;
    bool shared = access->space == &launch.blocks[0].shared, unwritten = false;
    for (uint32_t i = 0; i < n_cells; ++i) {
        Cell *cell = &chunk->cells[first + i];
        uint64_t offset = access->offset + ((uint64_t)i << chunk->log2_granule);
        if (shared && cell->write_epoch < launch.block_epoch) {  // left by an earlier block
            if (!write && !unwritten) {
                unwritten = true;
                report_at(UNINITIALISED, access, offset);
            }
            if (cell->write_epoch || cell->read_epoch < launch.block_epoch) memset(cell, 0, sizeof *cell);
        }
        if (write) {
            track_write(access, cell, offset, stamp);
        } else {
            track_read(access, cell, offset, stamp);
        }
    }
}
