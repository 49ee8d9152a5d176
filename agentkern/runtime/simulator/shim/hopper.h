// Asynchronous and tensor-core instruction functions: each fills a request for the engine. Included
// only where the text uses one. Families with numbers in their names are written behind this text,
// for the names used (hopper_names.py).
struct alignas(64) AkTensorMap {
    unsigned long long words[16];
};

#define AK_SIM_SHARED_WINDOW 1024
extern unsigned char ak_smem[];
static inline unsigned long long __cvta_generic_to_shared(const void *p) {
    return (ak_sim_u64)p - (ak_sim_u64)ak_smem + AK_SIM_SHARED_WINDOW;
}
static inline const void *__cvta_generic_to_global(const void *p) { return p; }
#define __cluster_dims__(...)

static inline ak_sim_u64 ak_sim_send(unsigned operation, const ak_sim_request &request, unsigned line) {
    return ak_sim_engine->asynchronous(operation, &request, line);
}
static inline ak_sim_u64 ak_sim_at(unsigned operation, const void *p, ak_sim_u64 value, unsigned line) {
    ak_sim_request request = {};
    request.address = (ak_sim_u64)p;
    request.value = value;
    return ak_sim_send(operation, request, line);
}

static inline void ak_mbarrier_init(void *bar, unsigned count, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_MBARRIER_INIT, bar, count, line);
}
static inline void ak_mbarrier_fence_init(AK_SIM_LINE) { ak_sim_at(AK_SIM_MBARRIER_FENCE_INIT, 0, 0, line); }
static inline void ak_mbarrier_arrive(void *bar, AK_SIM_LINE) { ak_sim_at(AK_SIM_MBARRIER_ARRIVE, bar, 0, line); }
static inline void ak_mbarrier_arrive_expect_tx(void *bar, unsigned bytes, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_MBARRIER_ARRIVE_TX, bar, bytes, line);
}
static inline void ak_mbarrier_arrive_remote(void *bar, unsigned cta, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_MBARRIER_ARRIVE_REMOTE, bar, cta, line);
}
static inline void ak_mbarrier_wait(void *bar, unsigned parity, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_MBARRIER_WAIT, bar, parity, line);
}
static inline bool ak_mbarrier_try_wait(void *bar, unsigned parity, AK_SIM_LINE) {
    return ak_sim_at(AK_SIM_MBARRIER_TRY_WAIT, bar, parity, line) != 0;
}
static inline bool ak_mbarrier_test_wait(void *bar, unsigned parity, AK_SIM_LINE) {
    return ak_mbarrier_try_wait(bar, parity, line);
}
static inline void ak_mbarrier_invalidate(void *bar, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_MBARRIER_INVALIDATE, bar, 0, line);
}

static inline void ak_sim_box(unsigned operation, const void *shared, const void *map, const void *bar,
                              unsigned rank, unsigned mask, unsigned line, int c0, int c1 = 0, int c2 = 0,
                              int c3 = 0, int c4 = 0) {
    ak_sim_request request = {};
    request.address = (ak_sim_u64)shared;
    request.other = (ak_sim_u64)bar;
    request.map = map;
    request.numbers[0] = rank;
    request.numbers[1] = mask;
    int coordinates[5] = {c0, c1, c2, c3, c4};
    __builtin_memcpy(request.coordinates, coordinates, sizeof coordinates);
    ak_sim_send(operation, request, line);
}
#define AK_SIM_BOXES(RANK, PARAMETERS, ...)                                                            \
    static inline void ak_tma_load_##RANK##d(void *dst, const AkTensorMap *map, void *bar, PARAMETERS,  \
                                             AK_SIM_LINE) {                                             \
        ak_sim_box(AK_SIM_TMA_LOAD, dst, map, bar, RANK, 0, line, __VA_ARGS__);                         \
    }                                                                                                   \
    static inline void ak_tma_load_##RANK##d_multicast(void *dst, const AkTensorMap *map, void *bar,    \
                                                       unsigned short cta_mask, PARAMETERS, AK_SIM_LINE) { \
        ak_sim_box(AK_SIM_TMA_LOAD, dst, map, bar, RANK, cta_mask, line, __VA_ARGS__);                  \
    }                                                                                                   \
    static inline void ak_tma_store_##RANK##d(const AkTensorMap *map, const void *src, PARAMETERS,      \
                                              AK_SIM_LINE) {                                            \
        ak_sim_box(AK_SIM_TMA_STORE, src, map, 0, RANK, 0, line, __VA_ARGS__);                          \
    }
#define AK_SIM_COORDINATES(...) __VA_ARGS__
AK_SIM_BOXES(1, int c0, c0)
AK_SIM_BOXES(2, AK_SIM_COORDINATES(int c0, int c1), c0, c1)
AK_SIM_BOXES(3, AK_SIM_COORDINATES(int c0, int c1, int c2), c0, c1, c2)
AK_SIM_BOXES(4, AK_SIM_COORDINATES(int c0, int c1, int c2, int c3), c0, c1, c2, c3)
AK_SIM_BOXES(5, AK_SIM_COORDINATES(int c0, int c1, int c2, int c3, int c4), c0, c1, c2, c3, c4)

static inline void ak_tma_prefetch(const AkTensorMap *map, AK_SIM_LINE) {
    ak_sim_request request = {};
    request.map = map;
    ak_sim_send(AK_SIM_TMA_PREFETCH, request, line);
}
static inline void ak_bulk_load(void *dst, const void *src, unsigned bytes, void *bar, AK_SIM_LINE) {
    ak_sim_request request = {};
    request.address = (ak_sim_u64)dst;
    request.other = (ak_sim_u64)src;
    request.third = (ak_sim_u64)bar;
    request.value = bytes;
    ak_sim_send(AK_SIM_BULK_LOAD, request, line);
}
static inline void ak_bulk_store(void *dst, const void *src, unsigned bytes, AK_SIM_LINE) {
    ak_sim_request request = {};
    request.address = (ak_sim_u64)src;
    request.other = (ak_sim_u64)dst;
    request.value = bytes;
    ak_sim_send(AK_SIM_BULK_STORE, request, line);
}

#define AK_SIM_PLAIN(NAME, OPERATION) \
    static inline void NAME(AK_SIM_LINE) { ak_sim_at(OPERATION, 0, 0, line); }
AK_SIM_PLAIN(ak_bulk_commit, AK_SIM_BULK_COMMIT)
AK_SIM_PLAIN(ak_fence_proxy_async, AK_SIM_FENCE_PROXY)
AK_SIM_PLAIN(ak_fence_proxy_async_global, AK_SIM_FENCE_PROXY)
AK_SIM_PLAIN(ak_fence_acq_rel_cluster, AK_SIM_FENCE_CLUSTER)
AK_SIM_PLAIN(ak_wgmma_fence, AK_SIM_WGMMA_FENCE)
AK_SIM_PLAIN(ak_wgmma_commit, AK_SIM_WGMMA_COMMIT)
AK_SIM_PLAIN(ak_cp_async_commit, AK_SIM_CP_ASYNC_COMMIT)
AK_SIM_PLAIN(ak_cluster_arrive, AK_SIM_CLUSTER_ARRIVE)
AK_SIM_PLAIN(ak_cluster_wait, AK_SIM_CLUSTER_WAIT)

// Not an instruction: keeps the host compiler, too, from moving uses of the registers.
#define AK_SIM_PIN(NAME, T, COUNT) \
    static inline void NAME(T(&d)[COUNT]) { __asm__ volatile("" : : "r"(d) : "memory"); }

// Waits and register counts: the number is part of the name.
#define AK_SIM_NUMBERED(NAME, OPERATION, NUMBER) \
    static inline void NAME(AK_SIM_LINE) { ak_sim_at(OPERATION, 0, NUMBER, line); }

#define AK_SIM_CP_ASYNC_WIDTH(WIDTH)                                                                 \
    static inline void ak_cp_async_##WIDTH##_zfill(void *dst, const void *src, unsigned src_bytes,   \
                                                   AK_SIM_LINE) {                                    \
        ak_sim_request request = {};                                                                 \
        request.address = (ak_sim_u64)dst;                                                           \
        request.other = (ak_sim_u64)src;                                                             \
        request.value = src_bytes;                                                                   \
        request.numbers[0] = WIDTH;                                                                  \
        ak_sim_send(AK_SIM_CP_ASYNC, request, line);                                                 \
    }                                                                                                \
    static inline void ak_cp_async_##WIDTH(void *dst, const void *src, AK_SIM_LINE) {                \
        ak_cp_async_##WIDTH##_zfill(dst, src, WIDTH, line);                                          \
    }
AK_SIM_CP_ASYNC_WIDTH(4)
AK_SIM_CP_ASYNC_WIDTH(8)
AK_SIM_CP_ASYNC_WIDTH(16)
static inline void ak_cp_async_mbarrier_arrive(void *bar, AK_SIM_LINE) {
    ak_sim_at(AK_SIM_CP_ASYNC_ARRIVE, bar, 0, line);
}

static inline void ak_sim_named_barrier(unsigned operation, int id, int threads, unsigned line) {
    ak_sim_request request = {};
    request.numbers[0] = (unsigned)id;
    request.numbers[1] = (unsigned)threads;
    ak_sim_send(operation, request, line);
}
static inline void ak_bar_sync(int id, int threads, AK_SIM_LINE) {
    ak_sim_named_barrier(AK_SIM_BAR_SYNC, id, threads, line);
}
static inline void ak_bar_arrive(int id, int threads, AK_SIM_LINE) {
    ak_sim_named_barrier(AK_SIM_BAR_ARRIVE, id, threads, line);
}
static inline bool ak_elect_one(AK_SIM_LINE) { return ak_sim_at(AK_SIM_ELECT, 0, 0, line) != 0; }
static inline unsigned ak_cluster_rank(AK_SIM_LINE) {
    return (unsigned)ak_sim_at(AK_SIM_CLUSTER_RANK, 0, 0, line);
}
static inline void *ak_mapa(const void *p, unsigned cta, AK_SIM_LINE) {
    return (void *)ak_sim_at(AK_SIM_MAPA, p, cta, line);
}

// Shared memory of any block of the cluster, at an address from ak_mapa.
static inline unsigned ak_lds_cluster_u32(const void *p, AK_SIM_LINE) { return ak_lds_u32(p, line); }
static inline void ak_sts_cluster_u32(void *p, unsigned v, AK_SIM_LINE) { ak_sts_u32(p, v, line); }
static inline void ak_lds_cluster_x4(unsigned (&r)[4], const void *p, AK_SIM_LINE) {
    uint4 v = ak_lds_v4u32(p, line);
    __builtin_memcpy(r, &v, sizeof r);
}
static inline void ak_sts_cluster_x4(void *p, const unsigned (&r)[4], AK_SIM_LINE) {
    ak_sts_v4u32(p, make_uint4(r[0], r[1], r[2], r[3]), line);
}

#define AK_SIM_MATRICES(NAME, OPERATION, N, TRANSPOSED, PARAMETERS)          \
    static inline void NAME PARAMETERS {                                     \
        ak_sim_request request = {};                                         \
        request.address = (ak_sim_u64)p;                                     \
        request.registers[0] = (void *)r;                                    \
        request.numbers[0] = N;                                              \
        request.numbers[1] = TRANSPOSED;                                     \
        ak_sim_send(OPERATION, request, line);                               \
    }
#define AK_SIM_MATRIX_COUNT(N)                                                                        \
    AK_SIM_MATRICES(ak_ldmatrix_x##N, AK_SIM_LDMATRIX, N, 0, (unsigned(&r)[N], const void *p, AK_SIM_LINE))       \
    AK_SIM_MATRICES(ak_ldmatrix_x##N##_trans, AK_SIM_LDMATRIX, N, 1, (unsigned(&r)[N], const void *p, AK_SIM_LINE)) \
    AK_SIM_MATRICES(ak_stmatrix_x##N, AK_SIM_STMATRIX, N, 0, (void *p, const unsigned(&r)[N], AK_SIM_LINE))       \
    AK_SIM_MATRICES(ak_stmatrix_x##N##_trans, AK_SIM_STMATRIX, N, 1, (void *p, const unsigned(&r)[N], AK_SIM_LINE))
AK_SIM_MATRIX_COUNT(1)
AK_SIM_MATRIX_COUNT(2)
AK_SIM_MATRIX_COUNT(4)

static inline void ak_sim_multiply(unsigned operation, void *d, const void *a, const void *b, ak_sim_u64 address,
                                   ak_sim_u64 other, int scale_d, unsigned n, unsigned k, unsigned format_a,
                                   unsigned format_b, unsigned a_transposed, unsigned b_transposed, unsigned line) {
    ak_sim_request request = {};
    request.registers[0] = d;
    request.registers[1] = (void *)a;
    request.registers[2] = (void *)b;
    request.address = address;
    request.other = other;
    request.value = scale_d != 0;
    unsigned numbers[6] = {n, k, format_a, format_b, a_transposed, b_transposed};
    __builtin_memcpy(request.numbers, numbers, sizeof numbers);
    ak_sim_send(operation, request, line);
}
#define AK_SIM_WGMMA_SS(NAME, T, N, K, A, B, AT, BT)                                                    \
    static inline void NAME(T(&d)[N / 2], unsigned long long desc_a, unsigned long long desc_b,        \
                            int scale_d, AK_SIM_LINE) {                                                 \
        ak_sim_multiply(AK_SIM_WGMMA, d, 0, 0, desc_a, desc_b, scale_d, N, K, A, B, AT, BT, line);      \
    }
#define AK_SIM_WGMMA_RS(NAME, T, N, K, A, B, AT, BT)                                                    \
    static inline void NAME(T(&d)[N / 2], const unsigned(&a)[4], unsigned long long desc_b,            \
                            int scale_d, AK_SIM_LINE) {                                                 \
        ak_sim_multiply(AK_SIM_WGMMA, d, a, 0, 0, desc_b, scale_d, N, K, A, B, AT, BT, line);           \
    }
#define AK_SIM_MMA_SYNC(NAME, T, K, A, B)                                                               \
    static inline void NAME(T(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2], AK_SIM_LINE) {      \
        ak_sim_multiply(AK_SIM_MMA, d, a, b, 0, 0, 1, 8, K, A, B, 0, 0, line);                          \
    }
