// One instruction step of mma.sync and wgmma over adversarial inputs against the host model.
// Usage: products RESULT.jsonl [DUMP.bin]. The dump holds the outputs of the first tiles for fitting.
#include "probe.cuh"
#include "product_model.h"

enum Mode { WITH_C, NO_C, ZERO_C, NEGATIVE_ZERO_C, N_MODES };  // NO_C: wgmma's scale-d 0; mma.sync takes +0
inline const char* mode_name(int m) {
  static const char* names[] = {"accumulator", "no accumulator", "accumulator +0", "accumulator -0"};
  return names[m];
}
enum Variant { V_BF16, V_F16, V_TF32, V_E4M3, V_E5M2, V_S8, V_S8_SAT, N_VARIANTS };
const int FORMAT_OF[N_VARIANTS] = {BF16, F16, TF32, E4M3, E5M2, S8, S8};
inline const char* variant_name(int v) { return v == V_S8_SAT ? "s8 satfinite" : FORMATS[FORMAT_OF[v]].name; }

template <int V>
__device__ void mma_sync(uint32_t* d, const uint32_t* a, const uint32_t* b) {
#define MMA(text, type)                                                                                       \
  asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"              \
               : "+" type(d[0]), "+" type(d[1]), "+" type(d[2]), "+" type(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (V == V_S8) MMA("m16n8k32.row.col.s32.s8.s8.s32", "r");
  if constexpr (V == V_S8_SAT) MMA("m16n8k32.row.col.satfinite.s32.s8.s8.s32", "r");
  if constexpr (V == V_BF16) MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "r");
  if constexpr (V == V_F16) MMA("m16n8k16.row.col.f32.f16.f16.f32", "r");
  if constexpr (V == V_TF32) MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "r");
  if constexpr (V == V_E4M3) MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "r");
  if constexpr (V == V_E5M2) MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", "r");
#undef MMA
}

enum Unit { MMA_SYNC, WGMMA_SHARED, WGMMA_REGISTERS, N_UNITS };
const char* const UNITS[N_UNITS] = {"mma.sync", "wgmma, a in shared memory", "wgmma, a in registers"};

template <int V>
__device__ void wgmma_registers(uint32_t* d, const uint32_t* a, uint64_t b, int scale_d) {
#define WGMMA(text, tail)                                                                                          \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0;\n"                                                           \
               "wgmma.mma_async.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, p" tail "; }"              \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d))
  if constexpr (V == V_BF16) WGMMA("m64n8k16.f32.bf16.bf16", ", 1, 1, 0");
  if constexpr (V == V_F16) WGMMA("m64n8k16.f32.f16.f16", ", 1, 1, 0");
  if constexpr (V == V_TF32) WGMMA("m64n8k8.f32.tf32.tf32", ", 1, 1");
  if constexpr (V == V_E4M3) WGMMA("m64n8k32.f32.e4m3.e4m3", ", 1, 1");
  if constexpr (V == V_E5M2) WGMMA("m64n8k32.f32.e5m2.e5m2", ", 1, 1");
  if constexpr (V == V_S8) WGMMA("m64n8k32.s32.s8.s8", "");
  if constexpr (V == V_S8_SAT) WGMMA("m64n8k32.s32.s8.s8.satfinite", "");
#undef WGMMA
}

template <int V>
__device__ void wgmma(uint32_t* d, uint64_t a, uint64_t b, int scale_d) {
#define WGMMA(text, tail)                                                                                      \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"                                                       \
               "wgmma.mma_async.sync.aligned." text " {%0,%1,%2,%3}, %4, %5, p" tail "; }"                     \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                \
               : "l"(a), "l"(b), "r"(scale_d))
  if constexpr (V == V_BF16) WGMMA("m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0");
  if constexpr (V == V_F16) WGMMA("m64n8k16.f32.f16.f16", ", 1, 1, 0, 0");
  if constexpr (V == V_TF32) WGMMA("m64n8k8.f32.tf32.tf32", ", 1, 1");
  if constexpr (V == V_E4M3) WGMMA("m64n8k32.f32.e4m3.e4m3", ", 1, 1");
  if constexpr (V == V_E5M2) WGMMA("m64n8k32.f32.e5m2.e5m2", ", 1, 1");
  if constexpr (V == V_S8) WGMMA("m64n8k32.s32.s8.s8", "");
  if constexpr (V == V_S8_SAT) WGMMA("m64n8k32.s32.s8.s8.satfinite", "");
#undef WGMMA
}

__device__ uint64_t descriptor(const void* shared) {  // no swizzle, K-major: core matrices of 8 rows x 16 bytes
  uint64_t address = uint64_t(__cvta_generic_to_shared(shared));
  return (address >> 4 & 0x3fff) | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;
}

template <int V>
__global__ void __launch_bounds__(128) step(const Tile* tiles, uint32_t* out, int mode, int unit) {
  __shared__ __align__(1024) uint8_t a[64 * 32], b[8 * 32];
  const Tile& t = tiles[blockIdx.x];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  for (int i = threadIdx.x; i < 64 * 32; i += 128) a[(i / 32 / 8 * 2 + i % 32 / 16) * 128 + i / 32 % 8 * 16 + i % 16] = t.a[i / 32][i % 32];
  for (int i = threadIdx.x; i < 8 * 32; i += 128) b[i % 32 / 16 * 128 + i / 32 * 16 + i % 16] = t.b[i / 32][i % 32];
  int row = warp * 16 + g, col = q * 2;
  uint32_t d[4] = {t.c[row][col], t.c[row][col + 1], t.c[row + 8][col], t.c[row + 8][col + 1]};
  if (mode != WITH_C) d[0] = d[1] = d[2] = d[3] = mode == NEGATIVE_ZERO_C ? 0x80000000u : 0u;
  uint32_t fa[4], fb[2];
  for (int i = 0; i < 4; ++i) fa[i] = *(const uint32_t*)&t.a[row + i % 2 * 8][i / 2 * 16 + q * 4];
  for (int i = 0; i < 2; ++i) fb[i] = *(const uint32_t*)&t.b[g][i * 16 + q * 4];
  __syncthreads();
  if (unit != MMA_SYNC) {
    if (mode == NO_C) d[0] = d[1] = d[2] = d[3] = 0x3f800000u;  // must be ignored
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    if (unit == WGMMA_SHARED) wgmma<V>(d, descriptor(a), descriptor(b), mode != NO_C);
    else wgmma_registers<V>(d, fa, descriptor(b), mode != NO_C);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])::"memory");
  } else {
    mma_sync<V>(d, fa, fb);
  }
  uint32_t* o = out + blockIdx.x * 512;
  o[row * 8 + col] = d[0], o[row * 8 + col + 1] = d[1];
  o[(row + 8) * 8 + col] = d[2], o[(row + 8) * 8 + col + 1] = d[3];
}

template <int V>
void launch(const Tile* tiles, uint32_t* out, int n, int mode, int unit) {
  step<V><<<n, 128>>>(tiles, out, mode, unit);
}
using Launcher = void (*)(const Tile*, uint32_t*, int, int, int);
const Launcher LAUNCH[N_VARIANTS] = {launch<V_BF16>, launch<V_F16>, launch<V_TF32>, launch<V_E4M3>,
                                     launch<V_E5M2>, launch<V_S8>, launch<V_S8_SAT>};

uint32_t model(int variant, int unit, int mode, const Tile& tile, int row, int col) {
  int format = FORMAT_OF[variant];
  uint32_t c = mode == WITH_C ? tile.c[row][col] : mode == NEGATIVE_ZERO_C ? 0x80000000u : 0u;
  bool has_c = unit == MMA_SYNC || mode != NO_C, fp8 = variant == V_E4M3 || variant == V_E5M2;
  if (variant == V_S8_SAT) {
    int64_t s = has_c ? int64_t(int32_t(c)) : 0;
    for (int k = 0; k < 32; ++k) s += int(int8_t(tile.a[row][k])) * int(int8_t(tile.b[col][k]));
    return uint32_t(int32_t(std::min<int64_t>(std::max<int64_t>(s, INT32_MIN), INT32_MAX)));
  }
  if (fp8 && unit == MMA_SYNC) return model_widened_fp8(tile.a[row], tile.b[col], format, c);
  ModelOptions o{fp8 ? 13 : 25, fp8 ? 13 : 23, k_of(format), false};
  return model_step(tile.a[row], tile.b[col], format, has_c, c, o);
}

std::string row_text(const uint8_t* row, int format) {
  std::string s;
  char word[12];
  for (int k = 0; k < k_of(format); ++k) {
    snprintf(word, sizeof word, "%s%0*x", k ? " " : "", 2 * FORMATS[format].bytes, load_code(row, format, k));
    s += word;
  }
  return s;
}

template <class Work>
void in_threads(int total, Work work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; i < total; i += 16) work(i);
    });
  for (auto& t : threads) t.join();
}

struct Probe {
  Json& json;
  FILE* dump;
  int n_tiles, n_dumped;
  Tile* device_tiles;
  uint32_t* device_out;
  std::vector<Tile> tiles;

  void run(int v, int category, int mode) {
    int total = n_tiles * 512, equal[N_UNITS] = {}, same = 0, minus_zero = 0;
    std::vector<uint32_t> outs[N_UNITS];
    for (int unit = 0; unit < N_UNITS; ++unit) {
      outs[unit].resize(total);
      CHECK(cudaMemset(device_out, 0xee, total * 4));
      LAUNCH[v](device_tiles, device_out, n_tiles, mode, unit);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(outs[unit].data(), device_out, total * 4, cudaMemcpyDeviceToHost));
      if (dump && unit < 2) fwrite(outs[unit].data(), 4, n_dumped * 512, dump);
      std::vector<uint32_t> want(total);
      in_threads(total, [&](int i) { want[i] = model(v, unit, mode, tiles[i / 512], i % 512 / 8, i % 8); });
      int first = -1;
      for (int i = 0; i < total; ++i) {
        equal[unit] += want[i] == outs[unit][i];
        minus_zero += outs[unit][i] == 0x80000000u;
        if (want[i] != outs[unit][i] && first < 0) first = i;
      }
      if (first >= 0) example(v, category, mode, unit, first, outs[unit][first], want[first]);
    }
    for (int i = 0; i < total; ++i) same += outs[0][i] == outs[1][i] && outs[1][i] == outs[2][i];
    json.line("{\"probe\":\"products\",\"operands\":\"%s\",\"inputs\":\"%s\",\"mode\":\"%s\",\"outputs\":%d,"
              "\"mma_equals_model\":%d,\"wgmma_equals_model\":%d,\"wgmma_registers_equals_model\":%d,"
              "\"all_units_equal\":%d,\"negative_zero_results\":%d}",
              variant_name(v), category_name(category), mode_name(mode), total, equal[0], equal[1], equal[2], same, minus_zero);
  }

  void example(int v, int category, int mode, int unit, int i, uint32_t got, uint32_t want) {
    const Tile& tile = tiles[i / 512];
    int row = i % 512 / 8, col = i % 8, format = FORMAT_OF[v];
    json.line("{\"probe\":\"products\",\"operands\":\"%s\",\"instruction\":\"%s\",\"inputs\":\"%s\",\"mode\":\"%s\","
              "\"example\":{\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%08x\",\"got\":\"%08x\",\"model\":\"%08x\"}}",
              variant_name(v), UNITS[unit], category_name(category), mode_name(mode), row_text(tile.a[row], format).c_str(),
              row_text(tile.b[col], format).c_str(), mode == WITH_C ? tile.c[row][col] : mode == NEGATIVE_ZERO_C ? 0x80000000u : 0u,
              got, want);
  }
};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  const int n_tiles = 512;
  Probe probe{json, argc > 2 ? fopen(argv[2], "wb") : nullptr, n_tiles, 8, device_alloc<Tile>(n_tiles),
              device_alloc<uint32_t>(n_tiles * 512), std::vector<Tile>(n_tiles)};
  for (int v = 0; v < N_VARIANTS; ++v)
    for (int category = 0; category < N_CATEGORIES; ++category) {
      in_threads(n_tiles, [&](int i) { probe.tiles[i] = make_tile(FORMAT_OF[v], category, i); });
      CHECK(cudaMemcpy(probe.device_tiles, probe.tiles.data(), n_tiles * sizeof(Tile), cudaMemcpyHostToDevice));
      for (int mode = 0; mode < N_MODES; ++mode) probe.run(v, category, mode);
    }
  if (probe.dump) fclose(probe.dump);
  return 0;
}
