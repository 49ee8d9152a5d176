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
