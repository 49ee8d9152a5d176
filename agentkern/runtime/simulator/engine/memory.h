// Address translation and the checks that need no history: bounds, alignment, permission, address
// space, and the initialised bits of global buffers. A load that fails yields 0xCD bytes, a store
// that fails goes nowhere, so a launch always continues.

static const uint64_t DEVICE_BASE = 0x4000000000000000ull;
enum : uint32_t { REGION_SHIFT = 40 };
// The addresses that mapa gives are those of the bytes on the host, block after block.
enum : uint32_t { BLOCK_SHARED_SHIFT = 18 };

static inline uint64_t address_in_cluster(uint64_t rank, uint64_t address) {
    return (uint64_t)(uintptr_t)launch.blocks[rank].shared.host + (address - launch.blocks[0].shared.device);
}

// The block that `address` is of, with the address that this block has for it.
static inline Block *block_of_address(uint64_t *address) {
    uint64_t in_cluster = *address - (uint64_t)(uintptr_t)launch.blocks[0].shared.host;
    uint64_t rank = in_cluster >> BLOCK_SHARED_SHIFT;
    if (rank >= launch.request->cluster_blocks) return launch.running->block;
    *address = launch.blocks[0].shared.device + (in_cluster & ((1u << BLOCK_SHARED_SHIFT) - 1));
    return &launch.blocks[rank];
}

static uint8_t *discard(uint32_t what) {
    static uint8_t poison[256], dropped[256];
    uint32_t kind = what & AK_SIM_KIND;
    if (kind == AK_SIM_WRITE || kind == AK_SIM_ATOMIC) return dropped;
    memset(poison, 0xcd, what & AK_SIM_WIDTH);
    return poison;
}

static inline uint32_t load_bits(const uint8_t *bits, uint64_t at) {
    uint32_t word;
    memcpy(&word, bits + at / 8, 4);
    return word >> (at & 7);
}

static inline void set_bits(uint8_t *bits, uint64_t at, uint32_t mask) {
    uint32_t word;
    memcpy(&word, bits + at / 8, 4);
    word |= mask << (at & 7);
    memcpy(bits + at / 8, &word, 4);
}

// Finds the windows that hold the access; checks permission and the initialised bits.
static bool check_windows(const Space *space, uint64_t offset, uint32_t what, uint32_t line) {
    uint32_t width = what & AK_SIM_WIDTH, holder = NO_BUFFER;
    bool atomic = (what & AK_SIM_KIND) == AK_SIM_ATOMIC, allowed = false, initialised = false;
    bool write = (what & AK_SIM_KIND) == AK_SIM_WRITE || atomic;
    uint32_t mask = width >= 32 ? ~0u : (1u << width) - 1;
    for (uint32_t i = 0; i < space->n_windows; ++i) {
        const Window *w = &space->windows[i];
        if (!inside_window(w, offset, width)) continue;
        if (holder == NO_BUFFER) holder = i;
        allowed |= !write || w->writable;
        uint64_t at = offset - w->offset;
        if (!w->initialised_bits) {
            initialised = true;
        } else if (write && !atomic) {
            set_bits(w->initialised_bits, at, mask);
        } else {
            initialised |= (load_bits(w->initialised_bits, at) & mask) == mask;
        }
    }
    if (holder == NO_BUFFER) {
        Place place = locate(space, offset);
        report_access(OUT_OF_BOUNDS, what, line, place.space_index, place.byte_offset);
        return false;
    }
    uint32_t index = space->first_window + holder;
    int64_t at = (int64_t)(offset - space->windows[holder].offset);
    if (!allowed) {
        report_access(READ_ONLY_WRITE, what, line, index, at);
        return false;
    }
    if ((!write || atomic) && !initialised && launch.request->full_checks) {
        report_access(UNINITIALISED, what, line, index, at);
    }
    return true;
}

static inline void track_aligned(Space *space, uint64_t address, uint64_t offset, uint32_t what,
                                 uint32_t line) {
    uint32_t width = what & AK_SIM_WIDTH;
    if (address & (width - 1)) {
        Place place = locate(space, offset);
        report_access(MISALIGNED, what, line, place.space_index, place.byte_offset);
        return;
    }
    // plain accesses of what atomics change are kept apart by the prover, grid by grid
    if (!space->directory || (what & AK_SIM_KIND) == AK_SIM_ATOMIC) return;
    if (launch.asynchronous) {
        track_thread(space, offset + shadow_shift(space), what, line);
        return;
    }
    Access access = {launch.running, space, offset + shadow_shift(space), what, line};
    track(&access);
}

static void *access_shared(uint64_t address, uint32_t what, uint32_t line) {
    Block *block = launch.asynchronous ? block_of_address(&address) : launch.running->block;
    Space *space = &block->shared;
    uint64_t offset = address - space->device;
    if (address >= DEVICE_BASE) {
        report_access(WRONG_SPACE, what, line, NO_BUFFER, 0);
        return discard(what);
    }
    if (offset >= space->bytes || offset + (what & AK_SIM_WIDTH) > space->bytes) {
        report_access(OUT_OF_BOUNDS, what, line, SHARED_MEMORY, (int64_t)offset);
        return discard(what);
    }
    if (launch.asynchronous) {
        check_block_lives(block, line);
        check_no_mbarrier(block, offset, what, line);
    }
    track_aligned(space, address, offset, what, line);
    return space->host + offset;
}

static void *access_global(uint64_t address, uint32_t what, uint32_t line) {
    uint64_t index = ((address ^ DEVICE_BASE) >> REGION_SHIFT) - 1;
    if (index >= launch.request->n_regions) {
        uint64_t in_shared = address - launch.blocks[0].shared.device;
        uint32_t kind = in_shared < launch.blocks[0].shared.bytes ? WRONG_SPACE : OUT_OF_BOUNDS;
        Finding *f = add_finding(kind, line, NO_BUFFER, 0);
        if (f) {
            f->access = what & AK_SIM_KIND;
            f->width = what & AK_SIM_WIDTH;
            f->byte_offset = (int64_t)address;
        }
        return discard(what);
    }
    Space *space = &launch.regions[index];
    uint64_t offset = address - space->device;
    if (!check_windows(space, offset, what, line)) return discard(what);
    track_aligned(space, address, offset, what, line);
    return space->host + offset;
}

static void *access(ak_sim_u64 address, unsigned what, unsigned line) {
    count_step(line);
    if ((what & AK_SIM_SPACE) == AK_SIM_SHARED) return access_shared(address, what, line);
    return access_global(address, what, line);
}
