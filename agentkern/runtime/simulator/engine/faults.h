// Whatever goes wrong outside the accessors ends the launch with a finding instead of the process:
// a dereferenced device pointer, an integer division by zero, a stack overflow, an endless loop.

static const int FAULT_SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
enum { N_FAULT_SIGNALS = 5, SIGNAL_STACK_BYTES = 65536 };

struct FaultGuard {
    struct sigaction previous[N_FAULT_SIGNALS];
    stack_t previous_stack;
    pthread_t owner;
};
static FaultGuard guard;
static char signal_stack[SIGNAL_STACK_BYTES];

static void pass_on(int index, int signal_number, siginfo_t *info, void *context) {
    struct sigaction *previous = &guard.previous[index];
    if (previous->sa_flags & SA_SIGINFO) {
        previous->sa_sigaction(signal_number, info, context);
    } else if (previous->sa_handler == SIG_DFL) {
        sigaction(signal_number, previous, nullptr);
        raise(signal_number);
    } else if (previous->sa_handler != SIG_IGN) {
        previous->sa_handler(signal_number);
    }
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
    if (!launch.in_fiber || !pthread_equal(pthread_self(), guard.owner)) {
        if (signal_number == SIGVTALRM) return;
        for (int i = 0; i < N_FAULT_SIGNALS; ++i) {
            if (FAULT_SIGNALS[i] == signal_number) pass_on(i, signal_number, info, context);
        }
        return;
    }
    uint32_t kind = HOST_FAULT;
    if (signal_number == SIGVTALRM) kind = TIME_LIMIT;
    char *low = stack_of(&stacks, launch.running->index) - stacks.guard_bytes;
    char *at = (char *)info->si_addr;
    if (signal_number == SIGSEGV && at >= low && at < low + stacks.guard_bytes) kind = STACK_OVERFLOW;
    Finding *f = add_finding(kind, launch.last_line, NO_BUFFER, 0);
    if (f) f->detail = (uint64_t)signal_number;
    stop_launch();
}

static void guard_faults() {
    stack_t mine = {};
    mine.ss_sp = signal_stack;
    mine.ss_size = SIGNAL_STACK_BYTES;
    sigaltstack(&mine, &guard.previous_stack);
    guard.owner = pthread_self();
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_FAULT_SIGNALS; ++i) sigaction(FAULT_SIGNALS[i], &action, &guard.previous[i]);
}

static void release_faults() {
    for (int i = 0; i < N_FAULT_SIGNALS; ++i) sigaction(FAULT_SIGNALS[i], &guard.previous[i], nullptr);
    sigaltstack(&guard.previous_stack, nullptr);
}

// The watchdog asks the accessors to stop, then interrupts code that reaches none.
struct Watchdog {
    pthread_t thread, target;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    uint64_t limit_ns;
    bool done;
};
static Watchdog watchdog;

static bool wait_until_done(uint64_t ns) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t nsec = (uint64_t)until.tv_nsec + ns % 1000000000ull;
    until.tv_sec += (time_t)(ns / 1000000000ull + nsec / 1000000000ull);
    until.tv_nsec = (long)(nsec % 1000000000ull);
    while (!watchdog.done) {
        if (pthread_cond_timedwait(&watchdog.condition, &watchdog.mutex, &until) != 0) break;
    }
    return watchdog.done;
}

static void *watch(void *) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_mutex_lock(&watchdog.mutex);
    if (!wait_until_done(watchdog.limit_ns)) {
        launch.expired = 1;
        launch.step_limit = 0;
        while (!wait_until_done(100000000ull)) pthread_kill(watchdog.target, SIGVTALRM);
    }
    pthread_mutex_unlock(&watchdog.mutex);
    return nullptr;
}

static bool start_watchdog(uint64_t limit_ns) {
    pthread_mutex_init(&watchdog.mutex, nullptr);
    pthread_cond_init(&watchdog.condition, nullptr);
    watchdog.target = pthread_self();
    watchdog.limit_ns = limit_ns;
    watchdog.done = false;
    return limit_ns != 0 && pthread_create(&watchdog.thread, nullptr, watch, nullptr) == 0;
}

static void stop_watchdog() {
    pthread_mutex_lock(&watchdog.mutex);
    watchdog.done = true;
    pthread_cond_signal(&watchdog.condition);
    pthread_mutex_unlock(&watchdog.mutex);
    pthread_join(watchdog.thread, nullptr);
}
