// How the engine calls a kernel: arguments as an array of pointers, described by the signature.
// The text that the build appends behind the kernels uses AK_SIM_ENTRY once per kernel.

// A list of pointers or strides. A number outside it picks address 0, whose use is a finding.
template <int N>
struct AkTable {
    unsigned long long words[N];
    unsigned long long at(long long number) const { return number >= 0 && number < N ? words[number] : 0; }
};

template <class T>
struct ak_sim_parameter {
    static constexpr unsigned word = sizeof(T);
};
template <class T>
struct ak_sim_parameter<T *> {
    static constexpr unsigned word = sizeof(T *) | 0x10000u;
};
template <>
struct ak_sim_parameter<float> {
    static constexpr unsigned word = sizeof(float) | 0x20000u;
};
template <>
struct ak_sim_parameter<double> {
    static constexpr unsigned word = sizeof(double) | 0x20000u;
};

template <class... A>
struct ak_sim_signature {
    static constexpr unsigned words[] = {sizeof...(A), ak_sim_parameter<A>::word...};
};
template <class... A>
constexpr unsigned ak_sim_signature<A...>::words[];

template <unsigned... I>
struct ak_sim_indices {};
template <unsigned N, unsigned... I>
struct ak_sim_count : ak_sim_count<N - 1, N - 1, I...> {};
template <unsigned... I>
struct ak_sim_count<0, I...> {
    typedef ak_sim_indices<I...> type;
};

template <class... A, unsigned... I>
static inline void ak_sim_apply(void (*kernel)(A...), void *const *arguments, ak_sim_indices<I...>) {
    (void)arguments;
    kernel(*(A *)arguments[I]...);
}
template <class... A>
static inline void ak_sim_call(void (*kernel)(A...), void *const *arguments) {
    ak_sim_apply(kernel, arguments, typename ak_sim_count<sizeof...(A)>::type());
}
template <class... A>
static inline const unsigned *ak_sim_describe(void (*)(A...)) {
    return ak_sim_signature<A...>::words;
}

#define AK_SIM_EXPORT extern "C" __attribute__((visibility("default")))
#define AK_SIM_ENTRY(NAME)                                                                      \
    AK_SIM_EXPORT void ak_sim_entry_##NAME(void *const *arguments) { ak_sim_call(&NAME, arguments); } \
    AK_SIM_EXPORT const unsigned *ak_sim_signature_##NAME() { return ak_sim_describe(&NAME); }

// An address range for `extern __shared__ ak_smem[]`; whole pages, made inaccessible by the engine.
#define AK_SIM_SMEM_BYTES 262144
#define AK_SIM_MODULE                                                                           \
    __attribute__((aligned(65536))) unsigned char ak_smem[AK_SIM_SMEM_BYTES];                   \
    AK_SIM_EXPORT void *ak_sim_bind(const ak_sim_engine_table *table, ak_sim_thread ***current) { \
        ak_sim_engine = table;                                                                  \
        *current = &ak_sim_current;                                                             \
        return ak_smem;                                                                         \
    }
