// Edge behaviour of the instructions that generated code relies on, bit for bit against integer models:
// casts over all 2^32 inputs, small formats over all codes, max/min/add/mul/fma/div/sqrt over special values.
// Usage: edges RESULT.jsonl
#include <cmath>

#include "cast_models.h"
#include "probe.cuh"

struct Tally {
  unsigned long long wrong, wrong_nan, digest;
  unsigned first;  // smallest wrong input
};

#define CVT1(name, instruction, model_expression)                              \
  struct name {                                                                \
    static const char* text() { return instruction; }                          \
    static __device__ uint64_t hardware(uint32_t x) {                          \
      uint16_t r;                                                              \
      asm(instruction " %0, %1;" : "=h"(r) : "f"(__uint_as_float(x)));         \
      return r;                                                                \
    }                                                                          \
    static __host__ __device__ uint64_t model(uint32_t x) { return model_expression; } \
  };
// two inputs: the upper half converts x, the lower a scrambled x
#define CVT2(name, instruction, type, constraint, bits, one)                                      \
  struct name {                                                                                   \
    static const char* text() { return instruction; }                                             \
    static __host__ __device__ uint32_t other(uint32_t x) { return x * 0x9e3779b1u ^ 0x5bd1e995u; } \
    static __device__ uint64_t hardware(uint32_t x) {                                             \
      type r;                                                                                     \
      asm(instruction " %0, %1, %2;"                                                              \
          : constraint(r)                                                                         \
          : "f"(__uint_as_float(x)), "f"(__uint_as_float(other(x))));                             \
      return r;                                                                                   \
    }                                                                                             \
    static __host__ __device__ uint64_t model(uint32_t x) { return one(x) << bits | one(other(x)); } \
  };
#define TO_INTEGER(name, instruction, type, constraint, model_expression)      \
  struct name {                                                                \
    static const char* text() { return instruction; }                          \
    static __device__ uint64_t hardware(uint32_t x) {                          \
      type r;                                                                  \
      asm(instruction " %0, %1;" : constraint(r) : "f"(__uint_as_float(x)));   \
      return uint64_t(int64_t(r));                                             \
    }                                                                          \
    static __host__ __device__ uint64_t model(uint32_t x) { return uint64_t(model_expression); } \
  };

CVT1(CvtBf16, "cvt.rn.bf16.f32", bf16_from_f32(x))
CVT1(CvtF16, "cvt.rn.f16.f32", f16_from_f32(x))
CVT2(CvtBf16x2, "cvt.rn.bf16x2.f32", uint32_t, "=r", 16, bf16_from_f32)
CVT2(CvtF16x2, "cvt.rn.f16x2.f32", uint32_t, "=r", 16, f16_from_f32)
CVT2(CvtE4m3x2, "cvt.rn.satfinite.e4m3x2.f32", uint16_t, "=h", 8, e4m3_from_f32)
CVT2(CvtE5m2x2, "cvt.rn.satfinite.e5m2x2.f32", uint16_t, "=h", 8, e5m2_from_f32)
TO_INTEGER(CvtS32, "cvt.rzi.s32.f32", int32_t, "=r", integer_from_f32(x, -2147483648ll, 2147483647ll, 0))
TO_INTEGER(CvtU32, "cvt.rzi.u32.f32", uint32_t, "=r", integer_from_f32(x, 0, 4294967295ll, 0))
TO_INTEGER(CvtS16, "cvt.rzi.s16.f32", int16_t, "=h", integer_from_f32(x, -32768, 32767, 0))
TO_INTEGER(CvtS64, "cvt.rzi.s64.f32", int64_t, "=l", integer_from_f32(x, INT64_MIN, INT64_MAX, INT64_MIN))
TO_INTEGER(CvtU64, "cvt.rzi.u64.f32", uint64_t, "=l", u64_from_f32(x, 0x8000000000000000ull))

struct FromS32 {
  static const char* text() { return "cvt.rn.f32.s32"; }
  static __device__ uint64_t hardware(uint32_t x) { return __float_as_uint(__int2float_rn(int32_t(x))); }
  static __host__ __device__ uint64_t model(uint32_t x) { return f32_from_s64(int32_t(x)); }
};
struct FromU32 {
  static const char* text() { return "cvt.rn.f32.u32"; }
  static __device__ uint64_t hardware(uint32_t x) { return __float_as_uint(__uint2float_rn(x)); }
  static __host__ __device__ uint64_t model(uint32_t x) { return f32_from_magnitude(x, 0); }
};
struct FromS64 {
  static const char* text() { return "cvt.rn.f32.s64 (2^32 spread values)"; }
  static __host__ __device__ int64_t value(uint32_t x) { return int64_t(mix64(x)) >> (x & 63u); }
  static __device__ uint64_t hardware(uint32_t x) { return __float_as_uint(__ll2float_rn(value(x))); }
  static __host__ __device__ uint64_t model(uint32_t x) { return f32_from_s64(value(x)); }
};

__host__ __device__ inline uint32_t fold(uint64_t y) { return uint32_t(y) ^ uint32_t(y >> 32) * 0x9e3779b1u; }

template <class F>
__global__ void scan(Tally* tally) {
  unsigned long long wrong = 0, wrong_nan = 0, digest = 0;
  unsigned first = 0xffffffffu;
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < 1ull << 32; i += uint64_t(gridDim.x) * blockDim.x) {
    uint32_t x = uint32_t(i);
    uint64_t got = F::hardware(x), want = F::model(x);
    digest += digest_term(x, fold(got));
    if (got != want) {
      ++wrong;
      wrong_nan += is_nan32(x);
      first = min(first, x);
    }
  }
  atomicAdd(&tally->wrong, wrong);
  atomicAdd(&tally->wrong_nan, wrong_nan);
  atomicAdd(&tally->digest, digest);
  atomicMin(&tally->first, first);
}
template <class F>
__global__ void evaluate(uint32_t x, uint64_t* out) {
  out[0] = F::hardware(x);
  out[1] = F::model(x);
}

template <class F>
uint64_t host_digest() {
  int n = int(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<uint64_t> part(n);
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t)
    threads.emplace_back([&, t] {
      uint64_t d = 0;
      for (uint64_t i = (1ull << 32) * t / n; i < (1ull << 32) * (t + 1) / n; ++i)
        d += digest_term(uint32_t(i), fold(F::model(uint32_t(i))));
      part[t] = d;
    });
  for (auto& t : threads) t.join();
  uint64_t d = 0;
  for (uint64_t p : part) d += p;
  return d;
}

template <class F>
void full_scan(Json& json, bool on_host) {
  Tally* tally = device_alloc<Tally>(1);
  uint64_t* out = device_alloc<uint64_t>(2);
  Tally zero{0, 0, 0, 0xffffffffu}, t;
  CHECK(cudaMemcpy(tally, &zero, sizeof t, cudaMemcpyHostToDevice));
  scan<F><<<132 * 16, 256>>>(tally);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&t, tally, sizeof t, cudaMemcpyDeviceToHost));
  uint64_t example[2] = {0, 0};
  if (t.wrong) {
    evaluate<F><<<1, 1>>>(t.first, out);
    CHECK(cudaMemcpy(example, out, sizeof example, cudaMemcpyDeviceToHost));
  }
  uint64_t host = on_host ? host_digest<F>() : 0;
  json.line("{\"probe\":\"edges\",\"what\":\"%s\",\"inputs\":4294967296,\"wrong\":%llu,\"wrong_nan_inputs\":%llu,"
            "\"first_wrong\":\"%08x\",\"got\":\"%llx\",\"model\":\"%llx\",\"digest\":\"%016llx\",\"host_model_digest\":\"%016llx\"}",
            F::text(), t.wrong, t.wrong_nan, t.first, (unsigned long long)example[0], (unsigned long long)example[1], t.digest,
            (unsigned long long)host);
  CHECK(cudaFree(tally));
  CHECK(cudaFree(out));
}

// ---- small formats, all codes
__global__ void widen(uint32_t* f16, uint32_t* bf16, uint32_t* e4m3, uint32_t* e5m2) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  asm("{ .reg .b16 h; mov.b16 h, %1; cvt.f32.f16 %0, h; }" : "=r"(f16[i]) : "h"(uint16_t(i)));
  asm("{ .reg .b16 h; mov.b16 h, %1; cvt.f32.bf16 %0, h; }" : "=r"(bf16[i]) : "h"(uint16_t(i)));
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(e4m3[i]) : "h"(uint16_t(i)));
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(e5m2[i]) : "h"(uint16_t(i)));
}

void small_formats(Json& json) {
  uint32_t* d = device_alloc<uint32_t>(4 * 65536);
  widen<<<256, 256>>>(d, d + 65536, d + 131072, d + 196608);
  std::vector<uint32_t> h(4 * 65536);
  CHECK(cudaMemcpy(h.data(), d, h.size() * 4, cudaMemcpyDeviceToHost));
  static const char* names[] = {"cvt.f32.f16", "cvt.f32.bf16", "cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2"};
  for (int k = 0; k < 4; ++k) {
    int wrong = 0, first = -1;
    for (uint32_t i = 0; i < 65536; ++i) {
      uint32_t want;
      if (k == 0) want = f32_from_small(i, 5, 10, true);
      if (k == 1) want = f32_from_small(i, 8, 7, true);
      if (k >= 2) {
        auto half = [&](uint32_t code) { return f16_from_f32(k == 2 ? f32_from_small(code, 4, 3, false) : f32_from_small(code, 5, 2, true)); };
        want = half(i >> 8) << 16 | half(i & 255);
      }
      if (h[k * 65536 + i] != want) {
        ++wrong;
        if (first < 0) first = int(i);
      }
    }
    json.line("{\"probe\":\"edges\",\"what\":\"%s\",\"inputs\":65536,\"wrong\":%d,\"first_wrong\":\"%x\",\"got\":\"%x\","
              "\"nan_code_gives\":\"%08x\"}",
              names[k], wrong, first < 0 ? 0 : first, first < 0 ? 0 : h[k * 65536 + first],
              h[k * 65536 + (k == 0 ? 0xfe01 : k == 1 ? 0xff81 : k == 2 ? 0xff7f : 0xfe7d)]);
  }
  CHECK(cudaFree(d));
}

// ---- two- and three-operand arithmetic over special values
const uint32_t SPECIAL[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
                            0x3f800000, 0xbf800000, 0x3f800001, 0x40000000, 0xc0400000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                            0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff812345, 0x7fffffff, 0xffffffff, 0x7fc12345,
                            0x1f000000, 0x9f000001, 0x5f123456, 0x34000000};
constexpr int N = sizeof SPECIAL / 4;
__constant__ uint32_t special[N];

enum Op { MAX_NAN, MIN_NAN, MAX, MIN, ADD, SUB, MUL, DIV, FMA, SQRT, RCP, N_OPS };

__device__ uint32_t device_op(int op, uint32_t a, uint32_t b, uint32_t c) {
  float x = __uint_as_float(a), y = __uint_as_float(b), z = __uint_as_float(c), r = 0;
  switch (op) {
    case MAX_NAN: asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); break;
    case MIN_NAN: asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); break;
    case MAX: asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); break;
    case MIN: asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); break;
    case ADD: r = __fadd_rn(x, y); break;
    case SUB: r = __fsub_rn(x, y); break;
    case MUL: r = __fmul_rn(x, y); break;
    case DIV: r = __fdiv_rn(x, y); break;
    case FMA: r = __fmaf_rn(x, y, z); break;
    case SQRT: r = __fsqrt_rn(x); break;
    case RCP: r = __frcp_rn(x); break;
  }
  return __float_as_uint(r);
}
__global__ void arithmetic(uint32_t* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * N * N) return;
  for (int op = 0; op < N_OPS; ++op)
    out[op * N * N * N + i] = device_op(op, special[i % N], special[i / N % N], special[i / N / N]);
}

uint32_t bits_of(float f) {
  uint32_t b;
  memcpy(&b, &f, 4);
  return is_nan32(b) ? 0x7fffffffu : b;
}
uint32_t host_op(int op, uint32_t a, uint32_t b, uint32_t c) {
  volatile float x, y, z;
  memcpy((void*)&x, &a, 4), memcpy((void*)&y, &b, 4), memcpy((void*)&z, &c, 4);
  auto key = [](uint32_t v) { return v >> 31 ? -int64_t(v & 0x7fffffff) - 1 : int64_t(v); };
  if (op <= MIN) {
    bool na = is_nan32(a), nb = is_nan32(b);
    if ((op <= MIN_NAN && (na || nb)) || (na && nb)) return 0x7fffffffu;
    if (na) return b;
    if (nb) return a;
    bool larger = key(a) >= key(b);
    return (op == MAX_NAN || op == MAX) == larger ? a : b;
  }
  switch (op) {
    case ADD: return bits_of(x + y);
    case SUB: return bits_of(x - y);
    case MUL: return bits_of(x * y);
    case DIV: return bits_of(x / y);
    case FMA: return bits_of(fmaf(x, y, z));
    case SQRT: return bits_of(sqrtf(x));
    default: return bits_of(1.0f / x);
  }
}

void arithmetic_table(Json& json) {
  CHECK(cudaMemcpyToSymbol(special, SPECIAL, sizeof SPECIAL));
  size_t n = size_t(N) * N * N;
  uint32_t* d = device_alloc<uint32_t>(n * N_OPS);
  arithmetic<<<unsigned((n + 127) / 128), 128>>>(d);
  std::vector<uint32_t> h(n * N_OPS);
  CHECK(cudaMemcpy(h.data(), d, h.size() * 4, cudaMemcpyDeviceToHost));
  static const char* names[] = {"max.NaN.f32", "min.NaN.f32", "max.f32",    "min.f32",    "__fadd_rn", "__fsub_rn",
                                "__fmul_rn",   "__fdiv_rn",   "__fmaf_rn",  "__fsqrt_rn", "__frcp_rn"};
  for (int op = 0; op < N_OPS; ++op) {
    int wrong = 0;
    size_t first = 0;
    for (size_t i = 0; i < n; ++i)
      if (h[op * n + i] != host_op(op, SPECIAL[i % N], SPECIAL[i / N % N], SPECIAL[i / N / N])) {
        if (!wrong++) first = i;
      }
    uint32_t a = SPECIAL[first % N], b = SPECIAL[first / N % N], c = SPECIAL[first / N / N];
    json.line("{\"probe\":\"edges\",\"what\":\"%s\",\"inputs\":%zu,\"wrong\":%d,\"a\":\"%08x\",\"b\":\"%08x\",\"c\":\"%08x\","
              "\"got\":\"%08x\",\"model\":\"%08x\"}",
              names[op], n, wrong, a, b, c, h[op * n + first], host_op(op, a, b, c));
  }
  CHECK(cudaFree(d));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  arithmetic_table(json);
  small_formats(json);
  full_scan<CvtBf16>(json, true);
  full_scan<CvtF16>(json, true);
  full_scan<CvtBf16x2>(json, false);
  full_scan<CvtF16x2>(json, false);
  full_scan<CvtE4m3x2>(json, true);
  full_scan<CvtE5m2x2>(json, false);
  full_scan<CvtS32>(json, true);
  full_scan<CvtU32>(json, false);
  full_scan<CvtS16>(json, false);
  full_scan<CvtS64>(json, true);
  full_scan<CvtU64>(json, false);
  full_scan<FromS32>(json, false);
  full_scan<FromU32>(json, false);
  full_scan<FromS64>(json, false);
  return 0;
}
