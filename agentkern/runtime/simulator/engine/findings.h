// Recording findings: equal ones (kind, lines, buffer) are counted, not repeated; a race is the same
// from either side. Never allocates, so a signal may stop the launch at any point of it.

static bool is_same_place(const Finding *f, uint32_t line, uint32_t other_line) {
    if (f->line == line && f->other_line == other_line) return true;
    bool race = f->kind == RACE_THREADS || f->kind == RACE_BLOCKS;
    return race && f->line == other_line && f->other_line == line;
}

static Finding *add_finding(uint32_t kind, uint32_t line, uint32_t space_index, uint32_t other_line) {
    LaunchRequest *request = launch.request;
    uint64_t kept = request->n_findings;
    for (uint64_t i = 0; i < kept; ++i) {
        Finding *f = &request->findings[i];
        if (f->kind == kind && f->space_index == space_index && is_same_place(f, line, other_line)) {
            ++f->count;
            return nullptr;
        }
    }
    if (kept == request->max_findings) {
        ++request->n_unrecorded;
        return nullptr;
    }
    Finding *f = &request->findings[request->n_findings++];
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->count = 1;
    f->line = line;
    f->space_index = space_index;
    f->other_line = other_line;
    f->other_thread = -1;
    f->other_block = -1;
    f->block = launch.running ? (int64_t)launch.running->view.block.x : -1;
    f->thread = launch.running ? launch.running->thread : 0;
    return f;
}

static void report_access(uint32_t kind, uint32_t what, uint32_t line, uint32_t space_index,
                          int64_t byte_offset) {
    Finding *f = add_finding(kind, line, space_index, 0);
    if (!f) return;
    f->access = what & AK_SIM_KIND;
    f->width = what & AK_SIM_WIDTH;
    f->byte_offset = byte_offset;
}

static void report_threads(uint32_t kind, uint32_t thread, uint32_t line, uint32_t other_line,
                           uint32_t other_thread, uint64_t detail) {
    Finding *f = add_finding(kind, line, NO_BUFFER, other_line);
    if (!f) return;
    f->thread = thread;
    f->other_thread = (int32_t)other_thread;
    f->detail = detail;
}

// The number of the block that ran in `epoch`.
static int64_t block_of_epoch(uint32_t epoch) {
    uint64_t low = 0, high = launch.n_clusters_run;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (launch.block_epochs[middle] <= epoch) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (int64_t)launch.block_numbers[low];
}
