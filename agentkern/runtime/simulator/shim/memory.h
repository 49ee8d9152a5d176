// The memory accessors. Global pointers are simulated device addresses; shared ones point into
// `ak_smem`, which is an address range only: the engine keeps the bytes of both.
#define AK_SIM_ACCESSORS(NAME, T)                                                              \
    static inline T ak_sim_load_##NAME(const void *p, unsigned what, unsigned line) {          \
        T v;                                                                                   \
        __builtin_memcpy(&v, ak_sim_engine->access((ak_sim_u64)p, what | sizeof(T), line),     \
                         sizeof(T));                                                           \
        return v;                                                                              \
    }                                                                                          \
    static inline void ak_sim_store_##NAME(void *p, T v, unsigned what, unsigned line) {       \
        __builtin_memcpy(ak_sim_engine->access((ak_sim_u64)p, what | sizeof(T), line), &v,     \
                         sizeof(T));                                                           \
    }                                                                                          \
    static inline T ak_ldg_##NAME(const void *p, AK_SIM_LINE) {                                \
        return ak_sim_load_##NAME(p, AK_SIM_READ_ONLY | AK_SIM_GLOBAL, line);                  \
    }                                                                                          \
    static inline T ak_ld_##NAME(const void *p, AK_SIM_LINE) {                                 \
        return ak_sim_load_##NAME(p, AK_SIM_READ | AK_SIM_GLOBAL, line);                       \
    }                                                                                          \
    static inline T ak_lds_##NAME(const void *p, AK_SIM_LINE) {                                \
        return ak_sim_load_##NAME(p, AK_SIM_READ | AK_SIM_SHARED, line);                       \
    }                                                                                          \
    static inline void ak_st_##NAME(void *p, T v, AK_SIM_LINE) {                               \
        ak_sim_store_##NAME(p, v, AK_SIM_WRITE | AK_SIM_GLOBAL, line);                         \
    }                                                                                          \
    static inline void ak_sts_##NAME(void *p, T v, AK_SIM_LINE) {                              \
        ak_sim_store_##NAME(p, v, AK_SIM_WRITE | AK_SIM_SHARED, line);                         \
    }
AK_SIM_ACCESSORS(u8, unsigned char)
AK_SIM_ACCESSORS(u16, unsigned short)
AK_SIM_ACCESSORS(u32, unsigned)
AK_SIM_ACCESSORS(u64, unsigned long long)
AK_SIM_ACCESSORS(v2u32, uint2)
AK_SIM_ACCESSORS(v4u32, uint4)

// Fibers switch at barriers only, so a read and a write in one function are one step.
#define AK_SIM_UPDATE(T, NUMBER, VALUE) AK_SIM_UPDATE_IN(AK_SIM_GLOBAL, T, NUMBER, VALUE)
#define AK_SIM_UPDATE_IN(SPACE, T, NUMBER, VALUE)                                              \
    T bits;                                                                                    \
    void *at = ak_sim_engine->access(                                                          \
        (ak_sim_u64)p, AK_SIM_ATOMIC | SPACE | (unsigned)sizeof(T), line);                     \
    __builtin_memcpy(&bits, at, sizeof(T));                                                    \
    NUMBER old = (NUMBER)bits, given = (NUMBER)v;                                              \
    bits = (T)(VALUE);                                                                         \
    __builtin_memcpy(at, &bits, sizeof(T));
static inline void ak_red_max_u32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, old < given ? given : old)
}
static inline void ak_red_max_i32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, int, old < given ? given : old)
}
static inline void ak_red_max_u64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, old < given ? given : old)
}
static inline void ak_red_max_i64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, long long, old < given ? given : old)
}
static inline void ak_red_min_u32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, given < old ? given : old)
}
static inline void ak_red_min_i32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, int, given < old ? given : old)
}
static inline void ak_red_min_u64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, given < old ? given : old)
}
static inline void ak_red_min_i64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, long long, given < old ? given : old)
}
static inline void ak_red_add_u32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned, unsigned, old + given)
}
static inline void ak_red_shared_add_u32(void *p, unsigned v, AK_SIM_LINE) {
    AK_SIM_UPDATE_IN(AK_SIM_SHARED, unsigned, unsigned, old + given)
}
static inline void ak_red_add_u64(void *p, unsigned long long v, AK_SIM_LINE) {
    AK_SIM_UPDATE(unsigned long long, unsigned long long, old + given)
}
