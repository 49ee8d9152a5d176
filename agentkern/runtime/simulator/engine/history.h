// Shadow memory of asynchronous kernels: for each byte who last wrote it and who has read it since,
// by clocks (clocks.h), and through which proxy. Chunks and granules as in shadow.h.

// What kind of access: a thread's read or write (AK_SIM_KIND), or one of these.
enum AccessKind : uint32_t {
    BULK_READ = 3u << 8,
    BULK_WRITE = 4u << 8,
    WGMMA_READ = 5u << 8,
    CP_ASYNC_READ = 6u << 8,
    CP_ASYNC_WRITE = 7u << 8,
};

struct Actor {
    const uint32_t *clock;  // what it knows
    uint32_t agent, tick;   // what others must know of it
    uint32_t kind, line;
    uint32_t swizzle;  // swizzle_mark of a box or an operand; 0: no layout is known
};

static inline uint32_t swizzle_mark(uint32_t span_bytes) { return 1 + span_bytes; }

static inline bool is_write(uint32_t kind) {
    return kind == AK_SIM_WRITE || kind == BULK_WRITE || kind == CP_ASYNC_WRITE;
}
static inline bool uses_async_proxy(uint32_t kind) {
    return kind == BULK_READ || kind == BULK_WRITE || kind == WGMMA_READ;
}

struct Reader {
    uint32_t agent, tick, next;
    uint16_t line, kind;
};

struct Record {
    uint32_t generation;  // of the cluster that wrote or read it; 0: never
    uint32_t writer, write_tick;  // agent + 1
    uint32_t readers;             // index of the first, 0: none
    uint32_t earlier_generation;  // of the last read by an earlier cluster
    uint16_t write_line, write_kind, earlier_line;
    uint8_t read_only_path, swizzle;
};

struct HistoryChunk {
    uint32_t log2_granule, reserved;
    Record *records;
};

struct Readers {
    Reader *pool;
    uint32_t used, free;
    size_t bytes;
};
static Readers readers;
enum : uint32_t { MAX_READERS = 1u << 26 };

static uint32_t take_reader() {
    if (readers.free) {
        uint32_t index = readers.free;
        readers.free = readers.pool[index].next;
        return index;
    }
    if (readers.used == MAX_READERS) {
        add_finding(OUT_OF_SHADOW, launch.last_line, NO_BUFFER, 0);
        stop_launch();
    }
    return readers.used++;
}
static void give_readers(uint32_t first) {
    if (!first) return;
    uint32_t last = first;
    while (readers.pool[last].next) last = readers.pool[last].next;
    readers.pool[last].next = readers.free;
    readers.free = first;
}
static uint32_t copy_readers(uint32_t first) {
    uint32_t copy = 0;
    for (; first; first = readers.pool[first].next) {
        uint32_t index = take_reader();
        readers.pool[index] = readers.pool[first];
        readers.pool[index].next = copy;
        copy = index;
    }
    return copy;
}

static HistoryChunk *history_chunk(Space *space, uint64_t offset, uint32_t log2_width) {
    HistoryChunk **slot = (HistoryChunk **)&space->directory[offset / CHUNK_BYTES];
    HistoryChunk *chunk = *slot;
    if (!chunk) {
        chunk = *slot = (HistoryChunk *)take_arena(sizeof(HistoryChunk));
        chunk->log2_granule = log2_width;
        chunk->records = (Record *)take_arena((CHUNK_BYTES >> log2_width) * sizeof(Record));
    } else if (chunk->log2_granule > log2_width) {
        uint32_t n_new = CHUNK_BYTES >> log2_width, each = 1u << (chunk->log2_granule - log2_width);
        Record *records = (Record *)take_arena(n_new * sizeof(Record));
        for (uint32_t i = 0; i < n_new; ++i) {
            records[i] = chunk->records[i / each];
            if (i % each) records[i].readers = copy_readers(records[i].readers);
        }
        chunk->records = records;
        chunk->log2_granule = log2_width;
    }
    return chunk;
}

static uint32_t fiber_of_agent(uint32_t agent) {
    return agent < clocks.n_fibers ? agent : clocks.lanes[agent - clocks.n_fibers].owner;
}

struct Spot {
    const Space *space;
    uint64_t offset;  // in the shadow
    uint32_t width;
};

static Finding *report_spot(uint32_t kind, const Actor *actor, const Spot *spot, uint32_t other_line) {
    Place place = locate(spot->space, spot->offset - shadow_shift(spot->space));
    Finding *f = add_finding(kind, actor->line, place.space_index, other_line);
    if (!f) return nullptr;
    f->access = actor->kind;
    f->width = spot->width;
    f->byte_offset = place.byte_offset;
    const Fiber *self = &launch.fibers[fiber_of_agent(actor->agent)];
    f->thread = self->thread;
    f->block = (int64_t)self->block->number;
    return f;
}

static void report_conflict(uint32_t finding, const Actor *actor, const Spot *spot, uint32_t agent,
                            uint32_t line, uint32_t kind) {
    Finding *f = report_spot(finding, actor, spot, line);
    if (!f) return;
    const Fiber *other = &launch.fibers[fiber_of_agent(agent)];
    f->other_thread = (int32_t)other->thread;
    f->other_block = (int64_t)other->block->number;
    f->other_access = kind;
}

static void report_other_cluster(const Actor *actor, const Spot *spot, uint32_t generation,
                                 uint32_t agent, uint32_t line, uint32_t kind) {
    Finding *f = report_spot(RACE_BLOCKS, actor, spot, line);
    if (!f) return;
    uint32_t fiber = fiber_of_agent(agent < clocks.n_fibers ? agent : 0);
    f->other_block = block_of_epoch(generation) + fiber / launch.n_threads;
    f->other_access = kind;
}

static Finding *complain(uint32_t kind, uint32_t complaint, uint32_t line, int64_t a, int64_t b);

static void check_block_lives(const Block *block, uint32_t line) {
    if (block->n_exited != launch.n_threads) return;
    complain(OPERAND_MISUSE, BLOCK_HAS_ENDED, line, block->rank, 0);
}

static void report_swizzle(const Actor *actor, const Spot *spot, const Record *record) {
    (void)spot;
    Finding *f = complain(OPERAND_MISUSE, SWIZZLE_MISMATCH, actor->line, record->swizzle - 1, actor->swizzle - 1);
    if (f) f->other_line = record->write_line;
}

static inline bool knows(const Actor *actor, uint32_t agent, uint32_t tick) {
    return actor->clock[agent] >= tick || (agent == actor->agent && tick == actor->tick);
}

static void check_last_write(const Actor *actor, const Spot *spot, const Record *record) {
    uint32_t agent = record->writer - 1;
    if (!knows(actor, agent, record->write_tick)) {
        report_conflict(RACE_THREADS, actor, spot, agent, record->write_line, record->write_kind);
        return;
    }
    if (!uses_async_proxy(actor->kind) || uses_async_proxy(record->write_kind)) return;
    uint32_t tick = record->write_tick, fiber = fiber_of_agent(agent);
    if (agent >= clocks.n_fibers) tick = clocks.lanes[agent - clocks.n_fibers].waited_at;
    if (is_fenced(fiber, tick, actor->clock)) return;
    report_conflict(MISSING_FENCE, actor, spot, agent, record->write_line, record->write_kind);
}

static void record_read(const Actor *actor, Record *record) {
    uint16_t line = (uint16_t)(actor->line < 0xffffu ? actor->line : 0xffffu);
    uint32_t replaced = 0;
    for (uint32_t i = record->readers; i; i = readers.pool[i].next) {
        Reader *reader = &readers.pool[i];
        if (reader->agent == actor->agent) {
            reader->tick = actor->tick;
            reader->line = line;
            return;
        }
        if (!replaced && actor->clock[reader->agent] >= reader->tick) replaced = i;
    }
    uint32_t index = replaced ? replaced : take_reader();
    Reader *reader = &readers.pool[index];
    uint32_t next = replaced ? reader->next : record->readers;
    *reader = {actor->agent, actor->tick, next, line, (uint16_t)actor->kind};
    if (!replaced) record->readers = index;
}

static void record_write(const Actor *actor, const Spot *spot, Record *record) {
    for (uint32_t i = record->readers; i; i = readers.pool[i].next) {
        const Reader *reader = &readers.pool[i];
        if (knows(actor, reader->agent, reader->tick)) continue;
        report_conflict(RACE_THREADS, actor, spot, reader->agent, reader->line, reader->kind);
        break;
    }
    if (record->earlier_generation) {
        report_other_cluster(actor, spot, record->earlier_generation, 0, record->earlier_line, AK_SIM_READ);
    }
    if (record->read_only_path) report_spot(READ_ONLY_PATH, actor, spot, 0);
    give_readers(record->readers);
    *record = {launch.epoch, actor->agent + 1, actor->tick, 0, 0, 0, (uint16_t)actor->kind, 0, 0,
               (uint8_t)actor->swizzle};
    record->write_line = (uint16_t)(actor->line < 0xffffu ? actor->line : 0xffffu);
}

// The record was left by an earlier cluster: conflicts in global memory, nothing in shared.
static void renew_record(const Actor *actor, const Spot *spot, Record *record, bool shared) {
    uint32_t readers_left = record->readers;
    if (!shared && record->generation) {
        if (record->writer) {
            report_other_cluster(actor, spot, record->generation, record->writer - 1,
                                 record->write_line, record->write_kind);
        } else if (readers_left) {
            record->earlier_generation = record->generation;
            record->earlier_line = readers.pool[readers_left].line;
        }
    }
    give_readers(readers_left);
    record->readers = record->writer = 0;
    record->generation = launch.epoch;
    if (shared) record->earlier_generation = record->read_only_path = 0;
}

// `offset` is a multiple of the width, a power of two up to 16; both in the shadow.
static void track_actor(Space *space, uint64_t offset, uint32_t width, const Actor *actor, bool read_only) {
    HistoryChunk *chunk = history_chunk(space, offset, (uint32_t)__builtin_ctz(width));
    uint32_t first = (uint32_t)(offset % CHUNK_BYTES) >> chunk->log2_granule;
    uint32_t n = width >> chunk->log2_granule;
    bool shared = space->n_windows == 0, write = is_write(actor->kind);
    for (uint32_t i = 0; i < n; ++i) {
        Record *record = &chunk->records[first + i];
        Spot spot = {space, offset + ((uint64_t)i << chunk->log2_granule), width};
        if (record->generation != launch.epoch) renew_record(actor, &spot, record, shared);
        if (record->writer) {
            check_last_write(actor, &spot, record);
            if (!write && actor->swizzle && record->swizzle && actor->swizzle != record->swizzle) {
                report_swizzle(actor, &spot, record);
            }
            if (read_only) report_spot(READ_ONLY_PATH, actor, &spot, 0);
        } else if (shared && !write) {
            report_spot(UNINITIALISED, actor, &spot, 0);
        }
        if (write) {
            record_write(actor, &spot, record);
        } else {
            record_read(actor, record);
            record->read_only_path |= read_only;
        }
    }
}

static void track_thread(Space *space, uint64_t offset, uint32_t what, uint32_t line) {
    const Fiber *self = launch.running;
    const uint32_t *clock = clock_of(self);
    uint32_t kind = what & AK_SIM_KIND;
    bool read_only = kind == AK_SIM_READ_ONLY;
    Actor actor = {clock, self->index, clock[self->index], read_only ? (uint32_t)AK_SIM_READ : kind, line, 0};
    track_actor(space, offset, what & AK_SIM_WIDTH, &actor, read_only);
}

static bool set_up_history() {
    readers.used = 1;
    readers.free = 0;
    readers.bytes = (size_t)MAX_READERS * sizeof(Reader);
    readers.pool = (Reader *)map_pages(readers.bytes);
    return readers.pool != nullptr;
}
