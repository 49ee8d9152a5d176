// A fiber: a stack and the saved stack pointer. Switching saves the callee-saved registers only;
// the floating-point control word is the same for all fibers.
struct Context {
    void *stack_pointer;
#if defined(AK_SIM_UCONTEXT)
    ucontext_t portable;
#endif
};

#if defined(__APPLE__)
#define AK_SIM_SWITCH "_ak_sim_switch"
#else
#define AK_SIM_SWITCH "ak_sim_switch"
#endif
extern "C" void ak_sim_switch(void **save, void *load) __attribute__((visibility("hidden")));

#if defined(AK_SIM_UCONTEXT)
static void prepare_context(Context *context, char *stack, size_t bytes, void (*entry)()) {
    getcontext(&context->portable);
    context->portable.uc_stack.ss_sp = stack;
    context->portable.uc_stack.ss_size = bytes;
    context->portable.uc_link = nullptr;
    makecontext(&context->portable, entry, 0);
}
static inline void switch_context(Context *from, Context *to) {
    swapcontext(&from->portable, &to->portable);
}

#elif defined(__x86_64__)
__asm__(".text\n" AK_SIM_SWITCH ":\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

static void prepare_context(Context *context, char *stack, size_t bytes, void (*entry)()) {
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    void **words = (void **)top;
    words[-2] = (void *)entry;  // `ret` leaves the stack at 8 modulo 16, as a call would
    memset(words - 8, 0, 6 * sizeof(void *));
    words[-1] = nullptr;
    context->stack_pointer = words - 8;
}
static inline void switch_context(Context *from, Context *to) {
    ak_sim_switch(&from->stack_pointer, to->stack_pointer);
}

#elif defined(__aarch64__)
__asm__(".text\n" AK_SIM_SWITCH ":\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp, #0]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp, #0]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n");

static void prepare_context(Context *context, char *stack, size_t bytes, void (*entry)()) {
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    void **words = (void **)(top - 160);
    memset(words, 0, 160);
    words[11] = (void *)entry;  // x30
    context->stack_pointer = words;
}
static inline void switch_context(Context *from, Context *to) {
    ak_sim_switch(&from->stack_pointer, to->stack_pointer);
}
#endif

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
static char *map_pages(size_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : (char *)p;
}

// Stacks for every thread of a block, kept between launches; below each lies a guard page.
struct StackPool {
    char *base;
    size_t stack_bytes, guard_bytes, n_stacks;
};

static bool reserve_stacks(StackPool *pool, size_t n_stacks, size_t stack_bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    stack_bytes = (stack_bytes + page - 1) / page * page;
    if (pool->base && pool->n_stacks >= n_stacks && pool->stack_bytes == stack_bytes) return true;
    size_t pitch = stack_bytes + page;
    if (pool->base) munmap(pool->base, pool->n_stacks * (pool->stack_bytes + pool->guard_bytes));
    pool->base = map_pages(n_stacks * pitch);
    if (!pool->base) return false;
    for (size_t i = 0; i < n_stacks; ++i) mprotect(pool->base + i * pitch, page, PROT_NONE);
    pool->stack_bytes = stack_bytes;
    pool->guard_bytes = page;
    pool->n_stacks = n_stacks;
    return true;
}
static inline char *stack_of(const StackPool *pool, size_t i) {
    return pool->base + i * (pool->stack_bytes + pool->guard_bytes) + pool->guard_bytes;
}
