// The hooks of an engine without the asynchronous part: `launch.asynchronous` is never set.

static bool set_up_asynchronous() { return false; }
static void start_asynchronous() {}
static void finish_asynchronous() {}
static void tear_down_asynchronous() {}
static bool advance_operations() { return false; }
static void describe_wait(const Fiber *, WaitRecord *) {}
static void order_block(Block *) {}
static void order_warp(Fiber *, uint32_t) {}
static void run_warp_instruction(Fiber *, uint32_t, uint32_t) {}
static void end_cluster_barrier_if_complete() {}
static void track_thread(Space *, uint64_t, uint32_t, uint32_t) {}
static void check_block_lives(const Block *, uint32_t) {}
static void check_no_mbarrier(Block *, uint64_t, uint32_t, uint32_t) {}
static ak_sim_u64 asynchronous(unsigned, const ak_sim_request *, unsigned) { return 0; }
