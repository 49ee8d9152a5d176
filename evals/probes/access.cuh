// 16-byte global loads and stores with cache operators, chosen at compile time.
#pragma once
#include <cstdint>

enum Load { LD, LD_NC, LD_NC_NOALLOC, LD_NC_EVICT_FIRST, LD_NC_L2_256, LD_NOALLOC, N_LOADS };
enum Store { ST, ST_CS, ST_NOALLOC, ST_WT, N_STORES };

inline const char* load_name(int i) {
  static const char* names[] = {"ld", "ld.nc", "ld.nc.L1::no_allocate", "ld.nc.L1::evict_first",
                                "ld.nc.L2::256B", "ld.L1::no_allocate"};
  return names[i];
}
inline const char* store_name(int i) {
  static const char* names[] = {"st", "st.cs", "st.L1::no_allocate", "st.wt"};
  return names[i];
}

#define LOAD_BODY(op) \
  asm volatile(op ".v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p))

template <int L>
__device__ __forceinline__ uint4 load16(const void* p) {
  uint4 v;
  if constexpr (L == LD) LOAD_BODY("ld.global");
  if constexpr (L == LD_NC) LOAD_BODY("ld.global.nc");
  if constexpr (L == LD_NC_NOALLOC) LOAD_BODY("ld.global.nc.L1::no_allocate");
  if constexpr (L == LD_NC_EVICT_FIRST) LOAD_BODY("ld.global.nc.L1::evict_first");
  if constexpr (L == LD_NC_L2_256) LOAD_BODY("ld.global.nc.L2::256B");
  if constexpr (L == LD_NOALLOC) LOAD_BODY("ld.global.L1::no_allocate");
  return v;
}
#undef LOAD_BODY

template <int S>
__device__ __forceinline__ void store16(void* p, uint4 v) {
#define STORE_BODY(op) \
  asm volatile(op ".v4.u32 [%4], {%0,%1,%2,%3};" ::"r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(p) : "memory")
  if constexpr (S == ST) STORE_BODY("st.global");
  if constexpr (S == ST_CS) STORE_BODY("st.global.cs");
  if constexpr (S == ST_NOALLOC) STORE_BODY("st.global.L1::no_allocate");
  if constexpr (S == ST_WT) STORE_BODY("st.global.wt");
#undef STORE_BODY
}

__device__ __forceinline__ float bf16_low(uint32_t w) { return __uint_as_float(w << 16); }
__device__ __forceinline__ float bf16_high(uint32_t w) { return __uint_as_float(w & 0xffff0000u); }
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ uint16_t pack_e4m3(float low, float high) {
  uint16_t r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ void unpack8(uint4 v, float* f) {
  f[0] = bf16_low(v.x), f[1] = bf16_high(v.x), f[2] = bf16_low(v.y), f[3] = bf16_high(v.y);
  f[4] = bf16_low(v.z), f[5] = bf16_high(v.z), f[6] = bf16_low(v.w), f[7] = bf16_high(v.w);
}
__device__ __forceinline__ uint4 pack8(const float* f) {
  return make_uint4(pack_bf16(f[0], f[1]), pack_bf16(f[2], f[3]), pack_bf16(f[4], f[5]), pack_bf16(f[6], f[7]));
}
