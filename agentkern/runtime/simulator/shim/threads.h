// CUDA's keywords, built-in variables, barriers and warp collectives on the host.
#define AK_SIMULATOR 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#ifndef __restrict__
#define __restrict__ __restrict
#endif

static const ak_sim_engine_table *ak_sim_engine;
static ak_sim_thread *ak_sim_current;

#define threadIdx (ak_sim_current->thread)
#define blockIdx (ak_sim_current->block)
#define blockDim (ak_sim_current->block_dim)
#define gridDim (ak_sim_current->grid_dim)
#define warpSize 32

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y) { return uint2{x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return uint4{x, y, z, w};
}

#define AK_SIM_LINE unsigned line = __builtin_LINE()

static inline void __syncthreads(AK_SIM_LINE) { ak_sim_engine->barrier(AK_SIM_BARRIER, 0, line); }
static inline int __syncthreads_or(int predicate, AK_SIM_LINE) {
    return ak_sim_engine->barrier(AK_SIM_BARRIER_OR, predicate, line);
}
static inline int __syncthreads_and(int predicate, AK_SIM_LINE) {
    return ak_sim_engine->barrier(AK_SIM_BARRIER_AND, predicate, line);
}
static inline int __syncthreads_count(int predicate, AK_SIM_LINE) {
    return ak_sim_engine->barrier(AK_SIM_BARRIER_COUNT, predicate, line);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, AK_SIM_LINE) {
    ak_sim_engine->collective(AK_SIM_SYNCWARP, mask, 0, 0, line);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, AK_SIM_LINE) {
    return (unsigned)ak_sim_engine->collective(AK_SIM_BALLOT, mask, predicate != 0, 0, line);
}
static inline int __any_sync(unsigned mask, int predicate, AK_SIM_LINE) {
    return (int)ak_sim_engine->collective(AK_SIM_ANY, mask, predicate != 0, 0, line);
}
static inline int __all_sync(unsigned mask, int predicate, AK_SIM_LINE) {
    return (int)ak_sim_engine->collective(AK_SIM_ALL, mask, predicate != 0, 0, line);
}

template <class T>
static inline T ak_sim_shuffle(unsigned kind, unsigned mask, T value, unsigned lane, int width,
                               unsigned line) {
    ak_sim_u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = ak_sim_engine->collective(kind, mask, bits, (lane & 0xffffu) | (unsigned)width << 16, line);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
// One overload per type, as in CUDA, so that a mixed-type call converts as it does there.
#define AK_SIM_SHUFFLES(T)                                                                       \
    static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32, AK_SIM_LINE) {     \
        return ak_sim_shuffle(AK_SIM_SHFL_IDX, mask, v, (unsigned)lane, width, line);            \
    }                                                                                            \
    static inline T __shfl_up_sync(unsigned mask, T v, unsigned n, int width = 32, AK_SIM_LINE) { \
        return ak_sim_shuffle(AK_SIM_SHFL_UP, mask, v, n, width, line);                          \
    }                                                                                            \
    static inline T __shfl_down_sync(unsigned mask, T v, unsigned n, int width = 32,             \
                                     AK_SIM_LINE) {                                              \
        return ak_sim_shuffle(AK_SIM_SHFL_DOWN, mask, v, n, width, line);                        \
    }                                                                                            \
    static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32, AK_SIM_LINE) { \
        return ak_sim_shuffle(AK_SIM_SHFL_XOR, mask, v, (unsigned)bits, width, line);            \
    }
AK_SIM_SHUFFLES(int)
AK_SIM_SHUFFLES(unsigned)
AK_SIM_SHUFFLES(float)
AK_SIM_SHUFFLES(double)
AK_SIM_SHUFFLES(long long)
AK_SIM_SHUFFLES(unsigned long long)

[[noreturn]] static inline void __trap(AK_SIM_LINE) {
    ak_sim_engine->trap(line);
    __builtin_unreachable();
}
