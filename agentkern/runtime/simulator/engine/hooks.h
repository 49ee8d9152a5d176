// Where the launch, the scheduler and the accessors call the asynchronous part (asynchronous.h). All
// but `asynchronous` are called only where `launch.asynchronous` is set.

static bool set_up_asynchronous();
static void start_asynchronous();
static void finish_asynchronous();
static void tear_down_asynchronous();
// Completes some operation or lets a spinning thread run; false if nothing is left to.
static bool advance_operations();
static void describe_wait(const Fiber *fiber, WaitRecord *record);
static void order_block(Block *block);
static void order_warp(Fiber *lanes, uint32_t mask);
static void run_warp_instruction(Fiber *lanes, uint32_t kind, uint32_t mask);
static void end_cluster_barrier_if_complete();
static void track_thread(Space *space, uint64_t offset, uint32_t what, uint32_t line);
static void check_block_lives(const Block *block, uint32_t line);
static void check_no_mbarrier(Block *block, uint64_t offset, uint32_t what, uint32_t line);
static ak_sim_u64 asynchronous(unsigned operation, const ak_sim_request *request, unsigned line);
