// Address spaces: which bytes of one belong to a buffer, and how a place in it is named.

static bool inside_window(const Window *window, uint64_t offset, uint32_t width) {
    uint64_t rest = offset - window->offset;  // huge if before the window
    if (rest >= window->bytes || window->bytes - rest < width) return false;
    if (window->n_dims == 0) return true;
    for (uint32_t d = 0; d < window->n_dims; ++d) {
        uint64_t index = rest / (uint64_t)window->strides[d];
        if (index >= (uint64_t)window->extents[d]) index = (uint64_t)window->extents[d] - 1;
        rest -= index * (uint64_t)window->strides[d];
    }
    return rest + width <= window->run_bytes;
}

struct Place {
    uint32_t space_index;
    int64_t byte_offset;
};

// The buffer that holds `offset`, or the nearest one, and the offset in it.
static Place locate(const Space *space, uint64_t offset) {
    if (space->n_windows == 0) return {SHARED_MEMORY, (int64_t)offset};
    uint32_t nearest = 0;
    uint64_t best = ~0ull;
    for (uint32_t i = 0; i < space->n_windows && best; ++i) {
        const Window *w = &space->windows[i];
        int64_t before = (int64_t)(w->offset - offset);
        int64_t behind = (int64_t)(offset - (w->offset + w->bytes)) + 1;
        uint64_t distance = before > 0 ? (uint64_t)before : behind > 0 ? (uint64_t)behind : 0;
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    return {space->first_window + nearest, (int64_t)(offset - space->windows[nearest].offset)};
}

// The shadow of a space is laid out by device address, so that aligned accesses are aligned in it.
static inline uint64_t shadow_shift(const Space *space) { return space->device % CHUNK_BYTES; }
