// The hardware's approximate functions over all 2^32 inputs: digests for each 2^23 inputs, errors against
// the correctly rounded result, and structure (does one binade determine the rest?).
// Usage: approximations RESULT.jsonl [DUMP_FOLDER]. The folder receives one file a binade for fitting: one
// signed byte an input, the difference in ulps from the correctly rounded result (from long double).
#include <cmath>

#include "cast_models.h"
#include "probe.cuh"

enum Function { EX2_FTZ, EX2, RCP_FTZ, RCP, RSQRT_FTZ, RSQRT, LG2, TANH, N_FUNCTIONS };
const char* const NAMES[N_FUNCTIONS] = {"ex2.approx.ftz.f32", "ex2.approx.f32", "rcp.approx.ftz.f32", "rcp.approx.f32",
                                        "rsqrt.approx.ftz.f32", "rsqrt.approx.f32", "lg2.approx.f32", "tanh.approx.f32"};

template <int F>
__device__ __forceinline__ uint32_t hardware(uint32_t x) {
  uint32_t r = 0;
#define APPLY(text) asm(text " %0, %1;" : "=r"(r) : "r"(x))
  if constexpr (F == EX2_FTZ) APPLY("ex2.approx.ftz.f32");
  if constexpr (F == EX2) APPLY("ex2.approx.f32");
  if constexpr (F == RCP_FTZ) APPLY("rcp.approx.ftz.f32");
  if constexpr (F == RCP) APPLY("rcp.approx.f32");
  if constexpr (F == RSQRT_FTZ) APPLY("rsqrt.approx.ftz.f32");
  if constexpr (F == RSQRT) APPLY("rsqrt.approx.f32");
  if constexpr (F == LG2) APPLY("lg2.approx.f32");
  if constexpr (F == TANH) APPLY("tanh.approx.f32");
#undef APPLY
  return r;
}
template <int F>
__device__ __forceinline__ uint32_t rounded(uint32_t x) {
  double v = __uint_as_float(x);
  double r;
  if constexpr (F == EX2_FTZ || F == EX2) r = exp2(v);
  if constexpr (F == RCP_FTZ || F == RCP) r = 1.0 / v;
  if constexpr (F == RSQRT_FTZ || F == RSQRT) r = 1.0 / sqrt(v);
  if constexpr (F == LG2) r = log2(v);
  if constexpr (F == TANH) r = tanh(v);
  return __float_as_uint(float(r));
}

constexpr int SPAN = 2;  // errors of -2 .. 2 ulps are counted apart, then farther
struct Tally {
  unsigned long long digest[512];
  unsigned long long histogram[2 * SPAN + 1], farther;
  unsigned long long subnormal_flushed, subnormal_results, nan_mismatch, class_mismatch, nan_not_canonical;
  unsigned worst_ulp, first_class_mismatch;
  unsigned long long structure_tested, structure_wrong;
  unsigned first_structure_wrong;
};

// Predict f(x) from f on one binade (two for rsqrt); false when the rule says nothing.
template <int F>
__device__ bool predict(uint32_t x, uint32_t* p) {
  int field = int(x >> 23 & 0xff);
  if (field == 0 || field == 255) return false;
  if constexpr (F == RCP || F == RCP_FTZ) {
    uint32_t base = hardware<F>(0x3f800000u | (x & 0x7fffffu));
    int e = int(base >> 23) - (field - 127);
    if (e < 1 || e > 254) return false;
    *p = (x & 0x80000000u) | uint32_t(e) << 23 | (base & 0x7fffffu);
    return true;
  }
  if constexpr (F == RSQRT || F == RSQRT_FTZ) {
    if (x >> 31) return false;
    int odd = (field - 127) & 1;
    uint32_t base = hardware<F>(uint32_t(127 + odd) << 23 | (x & 0x7fffffu));
    *p = base - uint32_t((field - 127 - odd) / 2) * 0x800000u;
    return true;
  }
  if constexpr (F == EX2 || F == EX2_FTZ) {
    float v = __uint_as_float(x);
    if (!(fabsf(v) >= 1.0f && v < 127.0f && v > -125.0f)) return false;
    float whole = floorf(v);
    uint32_t base = hardware<F>(__float_as_uint(v - whole));
    *p = base + uint32_t(int(whole)) * 0x800000u;
    return true;
  }
  return false;
}

template <int F>
__global__ void scan(Tally* tally) {
  unsigned chunk = blockIdx.x;  // 2^23 inputs
  unsigned long long histogram[2 * SPAN + 1] = {};
  unsigned long long digest = 0, farther = 0, flushed = 0, subnormal = 0, nan = 0, cls = 0, odd_nan = 0, tested = 0, wrong = 0;
  unsigned worst = 0, first_class = 0xffffffffu, first_wrong = 0xffffffffu;
  for (unsigned i = threadIdx.x; i < 1u << 23; i += blockDim.x) {
    uint32_t x = chunk << 23 | i, got = hardware<F>(x), want = rounded<F>(x), p;
    digest += digest_term(x, got);
    if (predict<F>(x, &p)) {
      ++tested;
      if (p != got) ++wrong, first_wrong = min(first_wrong, x);
    }
    bool nan_got = is_nan32(got), nan_want = is_nan32(want);
    if (nan_got && got != 0x7fffffffu) ++odd_nan;
    if (nan_got || nan_want) {
      nan += nan_got != nan_want;
      continue;
    }
    uint32_t magnitude = want & 0x7fffffffu;
    if (magnitude != 0 && magnitude < 0x800000u) {
      ++subnormal;
      if ((got & 0x7fffffffu) == 0) {
        ++flushed;
        continue;
      }
    }
    bool class_got = (got & 0x7fffffffu) == 0 || (got & 0x7fffffffu) >= 0x7f800000u;
    bool class_want = magnitude == 0 || magnitude >= 0x7f800000u;
    if ((class_got || class_want || (got ^ want) >> 31) && got != want) {
      ++cls, first_class = min(first_class, x);
      continue;
    }
    int d = int(got & 0x7fffffffu) - int(magnitude);
    worst = max(worst, unsigned(abs(d)));
#pragma unroll
    for (int k = 0; k <= 2 * SPAN; ++k) histogram[k] += d == k - SPAN;
    farther += abs(d) > SPAN;
  }
  atomicAdd(&tally->digest[chunk], digest);
  atomicAdd(&tally->farther, farther), atomicAdd(&tally->subnormal_flushed, flushed);
  atomicAdd(&tally->subnormal_results, subnormal), atomicAdd(&tally->nan_mismatch, nan), atomicAdd(&tally->class_mismatch, cls);
  atomicAdd(&tally->nan_not_canonical, odd_nan), atomicAdd(&tally->structure_tested, tested);
  atomicAdd(&tally->structure_wrong, wrong), atomicMin(&tally->first_structure_wrong, first_wrong);
  atomicMax(&tally->worst_ulp, worst), atomicMin(&tally->first_class_mismatch, first_class);
#pragma unroll
  for (int k = 0; k <= 2 * SPAN; ++k) atomicAdd(&tally->histogram[k], histogram[k]);
}

template <int F>
__global__ void one_binade(uint32_t top, uint32_t* out) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = hardware<F>(top << 23 | i);
}
template <int F>
__global__ void some_values(const uint32_t* x, uint32_t* out, int n) {
  if (int(threadIdx.x) < n) out[threadIdx.x] = hardware<F>(x[threadIdx.x]);
}

template <int F>
long double exact(float v) {
  if (F == EX2 || F == EX2_FTZ) return exp2l(v);
  if (F == RCP || F == RCP_FTZ) return 1.0L / v;
  return 1.0L / sqrtl(v);
}

template <int F>
void dump(const char* folder, uint32_t top) {
  static uint32_t* device = device_alloc<uint32_t>(1 << 23);
  std::vector<uint32_t> got(1 << 23);
  std::vector<int8_t> difference(1 << 23);
  one_binade<F><<<1 << 15, 256>>>(top, device);
  CHECK(cudaMemcpy(got.data(), device, got.size() * 4, cudaMemcpyDeviceToHost));
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = t << 19; i < uint32_t(t + 1) << 19; ++i) {
        uint32_t x = top << 23 | i, want;
        float v;
        memcpy(&v, &x, 4);
        float w = float(exact<F>(v));
        memcpy(&want, &w, 4);
        int d = int(got[i]) - int(want);
        difference[i] = int8_t(d > 127 ? 127 : d < -127 ? -127 : d);
      }
    });
  for (auto& t : threads) t.join();
  std::string path = std::string(folder) + "/" + (F == EX2_FTZ ? "ex2" : F == RCP ? "rcp" : "rsqrt") + "_" + std::to_string(top) + ".i8";
  FILE* file = fopen(path.c_str(), "wb");
  if (!file) exit(2);
  fwrite(difference.data(), 1, difference.size(), file);
  fclose(file);
}

template <int F>
void one(Json& json) {
  Tally* device = device_alloc<Tally>(1);
  static Tally t;
  memset(&t, 0, sizeof t);
  t.first_class_mismatch = t.first_structure_wrong = 0xffffffffu;
  CHECK(cudaMemcpy(device, &t, sizeof t, cudaMemcpyHostToDevice));
  scan<F><<<512, 512>>>(device);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&t, device, sizeof t, cudaMemcpyDeviceToHost));
  unsigned long long total = 0;
  std::string histogram, digests;
  char word[64];
  for (int i = 0; i <= 2 * SPAN; ++i) {
    if (!t.histogram[i]) continue;
    snprintf(word, sizeof word, "%s\"%d\":%llu", histogram.empty() ? "" : ",", i - SPAN, t.histogram[i]);
    histogram += word;
  }
  for (int i = 0; i < 512; ++i) {
    total += t.digest[i];
    snprintf(word, sizeof word, "%s\"%016llx\"", i ? "," : "", t.digest[i]);
    digests += word;
  }
  json.line("{\"probe\":\"approximations\",\"function\":\"%s\",\"digest\":\"%016llx\",\"ulps\":{%s},\"farther\":%llu,"
            "\"worst_ulp\":%u,\"subnormal_results\":%llu,\"of_these_zero\":%llu,\"nan_mismatch\":%llu,"
            "\"class_mismatch\":%llu,\"first_class_mismatch\":\"%08x\",\"nan_not_7fffffff\":%llu,"
            "\"structure_tested\":%llu,\"structure_wrong\":%llu,\"first_structure_wrong\":\"%08x\"}",
            NAMES[F], total, histogram.c_str(), t.farther, t.worst_ulp, t.subnormal_results, t.subnormal_flushed, t.nan_mismatch,
            t.class_mismatch, t.first_class_mismatch, t.nan_not_canonical, t.structure_tested, t.structure_wrong,
            t.first_structure_wrong);
  const uint32_t xs[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x3f800000,
                         0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc12345, 0xff812345, 0xc2fc0000,
                         0xc3150000, 0x43000000, 0x42ffffff, 0x7e800001};
  const int n = sizeof xs / 4;
  uint32_t* values = device_alloc<uint32_t>(2 * n);
  uint32_t ys[n];
  CHECK(cudaMemcpy(values, xs, sizeof xs, cudaMemcpyHostToDevice));
  some_values<F><<<1, 32>>>(values, values + n, n);
  CHECK(cudaMemcpy(ys, values + n, sizeof ys, cudaMemcpyDeviceToHost));
  std::string pairs;
  for (int i = 0; i < n; ++i) {
    snprintf(word, sizeof word, "%s\"%08x\":\"%08x\"", i ? "," : "", xs[i], ys[i]);
    pairs += word;
  }
  json.line("{\"probe\":\"approximations\",\"function\":\"%s\",\"special\":{%s}}", NAMES[F], pairs.c_str());
  json.line("{\"probe\":\"approximations\",\"function\":\"%s\",\"digests_2_23\":[%s]}", NAMES[F], digests.c_str());
  CHECK(cudaFree(values));
  CHECK(cudaFree(device));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  one<EX2_FTZ>(json), one<EX2>(json), one<RCP_FTZ>(json), one<RCP>(json);
  one<RSQRT_FTZ>(json), one<RSQRT>(json), one<LG2>(json), one<TANH>(json);
  if (argc > 2) {
    dump<RCP>(argv[2], 127);
    dump<RSQRT>(argv[2], 127), dump<RSQRT>(argv[2], 128);
    for (uint32_t e = 127 - 25; e <= 127; ++e) dump<EX2_FTZ>(argv[2], e), dump<EX2_FTZ>(argv[2], 256 + e);
  }
  return 0;
}
