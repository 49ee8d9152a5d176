// What the kernel side (shim) and the engine agree on. Includes nothing; both sides see this text.
#define AK_SIM_ABI_VERSION 2

typedef unsigned long long ak_sim_u64;

struct ak_sim_dim3 {
    unsigned x, y, z;
};

// The view of the running thread; the engine repoints `ak_sim_current` at every switch.
struct ak_sim_thread {
    ak_sim_dim3 thread, block, block_dim, grid_dim;
};

// An access word: width in bytes | kind | space.
enum : unsigned {
    AK_SIM_WIDTH = 0xffu,
    AK_SIM_READ = 0u << 8,
    AK_SIM_READ_ONLY = 1u << 8,  // ld.global.nc: nothing may write the bytes in the whole launch
    AK_SIM_WRITE = 2u << 8,
    AK_SIM_ATOMIC = 8u << 8,  // read and written in one step; two of them are no race
    AK_SIM_KIND = 0xfu << 8,
    AK_SIM_GLOBAL = 0u << 12,
    AK_SIM_SHARED = 1u << 12,
    AK_SIM_SPACE = 0xfu << 12,
};

// Warp collectives: a lane waits until every lane of its mask has arrived.
enum : unsigned {
    AK_SIM_SHFL_IDX,
    AK_SIM_SHFL_UP,
    AK_SIM_SHFL_DOWN,
    AK_SIM_SHFL_XOR,
    AK_SIM_BALLOT,
    AK_SIM_ANY,
    AK_SIM_ALL,
    AK_SIM_SYNCWARP,
};

// Block barriers, by what they return.
enum : unsigned { AK_SIM_BARRIER, AK_SIM_BARRIER_OR, AK_SIM_BARRIER_AND, AK_SIM_BARRIER_COUNT };

struct ak_sim_request;

struct ak_sim_engine_table {
    unsigned version;
    // Checks an access and returns where its bytes live on the host; never null.
    void *(*access)(ak_sim_u64 address, unsigned what, unsigned line);
    // `argument`: lane, delta or xor mask in the low half, width of the segment in the high half.
    ak_sim_u64 (*collective)(unsigned kind, unsigned mask, ak_sim_u64 value, unsigned argument,
                             unsigned line);
    int (*barrier)(unsigned kind, int predicate, unsigned line);
    void (*trap)(unsigned line);
    // An instruction of hopper_abi.h.
    ak_sim_u64 (*asynchronous)(unsigned operation, const ak_sim_request *request, unsigned line);
};
