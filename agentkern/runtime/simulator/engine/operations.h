// Asynchronous operations between issue and completion. What an operation touches is recorded in
// the history when it is issued, for whatever happens unordered with it is a race; its data moves
// when the completion asked for says: at issue (earliest), when something waits for it (latest), or
// at a random moment between.

static Finding *complain(uint32_t kind, uint32_t complaint, uint32_t line, int64_t a, int64_t b) {
    LaunchRequest *request = launch.request;
    for (uint64_t i = 0; i < request->n_findings; ++i) {
        Finding *f = &request->findings[i];
        if (f->kind == kind && f->line == line && f->detail == complaint) {
            ++f->count;
            return nullptr;
        }
    }
    Finding *f = add_finding(kind, line, NO_BUFFER, complaint);
    if (!f) return nullptr;
    f->other_line = 0;
    f->detail = complaint;
    f->values[0] = a;
    f->values[1] = b;
    return f;
}

enum OperationKind : uint32_t { BULK_TO_SHARED, BULK_TO_GLOBAL, CP_ASYNC, CP_ASYNC_SIGNAL, WGMMA };

// A box of a tensor and its image in shared memory, or a plain run of bytes.
struct Box {
    uint64_t address, extents[5], strides[5];  // of dimension 0 the element
    uint32_t counts[5], steps[5];
    int32_t coordinates[5];
    uint32_t rank, element_bytes, swizzle_bytes;
    uint64_t fill_bits;
    uint64_t shared;  // offset
};

struct Product {
    uint64_t descriptor_a, descriptor_b;
    uint32_t n, k, format_a, format_b;
    bool a_in_registers, a_transposed, b_transposed, integers;
};

struct Accumulator;

struct Operation {
    uint32_t kind, line, fiber, group;
    uint32_t lane, tick, lane_of_writes, tick_of_writes;
    bool performed, read_seen;
    Operation *next;     // in the queue of its fiber or warpgroup
    uint32_t *clock;     // BULK_TO_SHARED: of the issue; CP_ASYNC_SIGNAL: of the copies it follows
    Box box;             // bulk copies
    uint32_t block_mask; // blocks of the cluster written
    uint32_t barrier_offset, bytes;
    uint64_t global, number;  // CP_ASYNC: of the thread's copies
    uint32_t width, source_bytes, signal;
    Product product;     // WGMMA
    Accumulator *accumulator;
    uint32_t scale[4];            // accumulate or not, of the warps
    const uint32_t *fragments[128];  // A in registers
    uint32_t fragment_values[128][4];
};

struct Queue {
    Operation *first, *last;
};

static void append(Queue *queue, Operation *operation) {
    operation->next = nullptr;
    if (queue->last) {
        queue->last->next = operation;
    } else {
        queue->first = operation;
    }
    queue->last = operation;
}
static Operation *take_first(Queue *queue) {
    Operation *operation = queue->first;
    queue->first = operation->next;
    if (!queue->first) queue->last = nullptr;
    return operation;
}

// Where the asynchronous state of a thread is.
struct ThreadState {
    Queue stores, copies;  // not yet waited for
    uint32_t open_store_group, open_copy_group, open_wgmma_group;
    uint64_t n_copies;
    uint32_t cluster_phase;  // of its last arrival, from 1
    bool wgmma_fenced;       // since its last wait
};

// An accumulator array that products of a warpgroup use, and what it should hold: nobody else may
// change it while they are in flight, nor afterwards without a fence before the next.
struct Accumulator {
    uint32_t *key;  // of the first thread
    uint32_t *arrays[128], n_registers, n_in_flight;
    uint32_t values[128][MAX_STEP_N / 2];
};
enum : uint32_t { MAX_ACCUMULATORS = 16 };

struct Warpgroup {
    uint32_t n_arrived, registers, n_accumulators, next_evicted;
    Queue products;
    Accumulator *accumulators;  // MAX_ACCUMULATORS of them
};

enum : uint32_t { MAX_OPERATIONS = 1u << 16, N_WARPGROUPS = MAX_FIBERS / 128 };
static const size_t ACCUMULATOR_BYTES = sizeof(Accumulator) * MAX_ACCUMULATORS * N_WARPGROUPS;

struct Operations {
    Operation *pool, *free;
    uint32_t used;
    Queue queued;  // copies into shared memory and signals, not yet performed
    ThreadState threads[MAX_FIBERS];
    Warpgroup warpgroups[N_WARPGROUPS];
    uint64_t progress;      // operations performed and phases completed
    uint64_t seen_progress; // when spinning threads were last let run
    uint32_t idle_rounds;
};
static Operations operations;

static Operation *take_operation(uint32_t kind, uint32_t line) {
    Operation *operation = operations.free;
    if (operation) {
        operations.free = operation->next;
    } else if (operations.used < MAX_OPERATIONS) {
        operation = &operations.pool[operations.used++];
    } else {
        add_finding(OUT_OF_SHADOW, line, NO_BUFFER, 0);
        stop_launch();
    }
    operation->kind = kind;
    operation->line = line;
    operation->fiber = launch.running->index;
    operation->performed = operation->read_seen = false;
    operation->signal = 0;
    operation->clock = nullptr;
    return operation;
}
static void give_operation(Operation *operation) {
    give_clock(operation->clock);
    operation->clock = nullptr;
    operation->next = operations.free;
    operations.free = operation;
}

static ThreadState *state_of(const Fiber *fiber) { return &operations.threads[fiber->index]; }
static Warpgroup *warpgroup_of(const Fiber *fiber) {
    return &operations.warpgroups[fiber->block->rank * (AK_SIM_MAX_THREADS / 128) + fiber->thread / 128];
}

// Whether an operation happens where it is issued.
static bool happens_now() {
    switch (launch.request->completion) {
        case EARLIEST:
            return true;
        case LATEST:
            return false;
        default:
            return next_random() % 3 == 0;
    }
}
