// The fixed order of a last-axis sum (panels of 8192; rows of 1024 added in ascending order into 1024
// partial sums; then a tree over the partial index's bits 0,1,2,8,9,3,4,5,6,7) against a free order, in
// rms_norm and in a plain row sum; 1, 2 and 4 warps a row, several rows a block.
// Usage: row_order RESULT.jsonl
#include "access.cuh"
#include "probe.cuh"

constexpr int COLS = 7168, PANEL_ROWS = COLS / 1024;
enum Order { FIXED, FREE };

// The tree over bits 0, 1, 2 of eight values that one thread holds.
__device__ __forceinline__ float tree8(const float* p) {
  float a = __fadd_rn(p[0], p[1]), b = __fadd_rn(p[2], p[3]), c = __fadd_rn(p[4], p[5]), d = __fadd_rn(p[6], p[7]);
  return __fadd_rn(__fadd_rn(a, b), __fadd_rn(c, d));
}

// A row's vector v of 8 elements sits in thread v % (32 * WARPS) of the row's warps. Bits 8 and 9 of the
// element index are the warp for WARPS = 4, the warp and a register for 2, two registers for 1.
template <int ORDER, int WARPS, bool SQUARE>
__device__ float row_sum(const uint4* v, float* shared, int warp_in_row) {
  constexpr int REGS = 4 / WARPS, N = PANEL_ROWS * REGS;
  float total;
  if constexpr (ORDER == FIXED) {
    float s[REGS];
#pragma unroll
    for (int r = 0; r < REGS; ++r) {
      float p[8];
#pragma unroll
      for (int j = 0; j < PANEL_ROWS; ++j) {
        float f[8];
        unpack8(v[j * REGS + r], f);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float e = SQUARE ? __fmul_rn(f[i], f[i]) : f[i];
          p[i] = j == 0 ? e : __fadd_rn(p[i], e);
        }
      }
      s[r] = tree8(p);
    }
    if constexpr (WARPS == 1) total = __fadd_rn(__fadd_rn(s[0], s[1]), __fadd_rn(s[2], s[3]));
    if constexpr (WARPS == 2) {
      // registers hold bit 9, warps bit 8: bit 8 first, so both halves cross
      int lane = threadIdx.x % 32;
      shared[warp_in_row * 64 + lane] = s[0];
      shared[warp_in_row * 64 + 32 + lane] = s[1];
      __syncthreads();
      total = __fadd_rn(__fadd_rn(shared[lane], shared[64 + lane]), __fadd_rn(shared[32 + lane], shared[96 + lane]));
    }
    if constexpr (WARPS == 4) {
      int lane = threadIdx.x % 32;
      shared[warp_in_row * 32 + lane] = s[0];
      __syncthreads();
      total = __fadd_rn(__fadd_rn(shared[lane], shared[32 + lane]), __fadd_rn(shared[64 + lane], shared[96 + lane]));
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) total = __fadd_rn(total, __shfl_xor_sync(0xffffffffu, total, d));
  } else {
    float p[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < N; ++j) {
      float f[8];
      unpack8(v[j], f);
#pragma unroll
      for (int i = 0; i < 8; ++i) p[i % 4] = SQUARE ? __fmaf_rn(f[i], f[i], p[i % 4]) : __fadd_rn(p[i % 4], f[i]);
    }
    total = __fadd_rn(__fadd_rn(p[0], p[1]), __fadd_rn(p[2], p[3]));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) total = __fadd_rn(total, __shfl_xor_sync(0xffffffffu, total, d));
    if constexpr (WARPS > 1) {
      if (threadIdx.x % 32 == 0) shared[warp_in_row] = total;
      __syncthreads();
      total = shared[0];
#pragma unroll
      for (int w = 1; w < WARPS; ++w) total = __fadd_rn(total, shared[w]);
    }
  }
  return total;
}

template <int ORDER, int WARPS, int ROWS, bool NORM>
__global__ void __launch_bounds__(32 * WARPS * ROWS) row_kernel(const uint16_t* x, const uint16_t* w, void* out, int rows) {
  constexpr int N = PANEL_ROWS * 4 / WARPS;
  __shared__ float shared[ROWS][128];
  int row_in_block = threadIdx.x / (32 * WARPS), t = threadIdx.x % (32 * WARPS);
  int row = blockIdx.x * ROWS + row_in_block;
  bool ok = row < rows;
  const uint4* at = (const uint4*)(x + (long long)row * COLS);
  uint4 v[N];
#pragma unroll
  for (int j = 0; j < N; ++j) v[j] = ok ? load16<LD_NC>(at + j * (32 * WARPS) + t) : make_uint4(0, 0, 0, 0);
  float total = row_sum<ORDER, WARPS, NORM>(v, shared[row_in_block], t / 32);
  if constexpr (!NORM) {
    if (ok && t == 0) ((float*)out)[row] = total;
  } else {
    float mean = __fdiv_rn(total, float(COLS));
    float r = __frcp_rn(__fsqrt_rn(__fadd_rn(mean, 1e-6f)));
    uint4* to = (uint4*)((uint16_t*)out + (long long)row * COLS);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      float f[8], g[8];
      unpack8(v[j], f);
      unpack8(load16<LD_NC>((const uint4*)w + j * (32 * WARPS) + t), g);
#pragma unroll
      for (int i = 0; i < 8; ++i) f[i] = __fmul_rn(__fmul_rn(f[i], r), g[i]);
      if (ok) store16<ST>(to + j * (32 * WARPS) + t, pack8(f));
    }
  }
}

// The order as the law says it, one row, on the host.
float host_sum(const uint16_t* x) {
  std::vector<float> p(1024);
  for (int i = 0; i < COLS; ++i) {
    uint32_t bits = uint32_t(x[i]) << 16;
    float f;
    memcpy(&f, &bits, 4);
    p[i % 1024] = i < 1024 ? f : p[i % 1024] + f;
  }
  for (int bit : {0, 1, 2, 8, 9, 3, 4, 5, 6, 7})
    for (int i = 0; i < 1024; ++i)
      if (!(i >> bit & 1)) p[i] = p[i] + p[i | 1 << bit];  // values at set bits are spent
  return p[0];
}

struct Context {
  Json& json;
  int rows;
  Buffers& buffers;
  uint16_t* weight;
  double copy_us;
  std::vector<float> expected;
  uint64_t norm_digest;
};

uint64_t digest(const void* device, size_t bytes) {
  std::vector<uint32_t> host(bytes / 4);
  CHECK(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
  uint64_t d = 0;
  for (size_t i = 0; i < host.size(); ++i) d += digest_term(uint32_t(i), host[i]);
  return d;
}

template <int ORDER, int WARPS, int ROWS, bool NORM>
void one(Context& c) {
  auto launch = [&](int i) {
    int b = i % c.buffers.sets;
    row_kernel<ORDER, WARPS, ROWS, NORM><<<(c.rows + ROWS - 1) / ROWS, 32 * WARPS * ROWS>>>(
        (uint16_t*)c.buffers.in[b], c.weight, c.buffers.out[b], c.rows);
  };
  CHECK(cudaMemset(c.buffers.out[0], 0xff, c.buffers.out_bytes));
  launch(0);
  CHECK(cudaDeviceSynchronize());
  int equal = -1;
  uint64_t d = 0;
  if constexpr (NORM) {
    d = digest(c.buffers.out[0], c.buffers.out_bytes);
  } else {
    std::vector<float> got(c.rows);
    CHECK(cudaMemcpy(got.data(), c.buffers.out[0], c.rows * 4, cudaMemcpyDeviceToHost));
    equal = 0;
    for (int i = 0; i < c.rows; ++i) equal += got[i] == c.expected[i];
  }
  Timing t = time_launches(31, launch);
  c.json.line("{\"probe\":\"row_order\",\"kernel\":\"%s\",\"rows\":%d,\"cols\":%d,\"order\":\"%s\",\"warps_a_row\":%d,"
              "\"rows_a_block\":%d,\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,\"gbs\":%.0f,\"of_copy\":%.4f,"
              "\"rows_equal_to_law\":%d,\"digest\":\"%016llx\"}",
              NORM ? "rms_norm" : "row_sum", c.rows, COLS, ORDER == FIXED ? "fixed" : "free", WARPS, ROWS, t.median_us,
              t.low_us, t.high_us, gb_per_s(c.buffers.in_bytes + (NORM ? c.buffers.in_bytes : c.rows * 4), t.median_us),
              c.copy_us / t.median_us, equal, (unsigned long long)d);
}

template <bool NORM, int ORDER>
void by_block(Context& c) {
  one<ORDER, 1, 1, NORM>(c);
  one<ORDER, 1, 2, NORM>(c);
  one<ORDER, 1, 4, NORM>(c);
  one<ORDER, 1, 8, NORM>(c);
  one<ORDER, 2, 1, NORM>(c);
  one<ORDER, 2, 2, NORM>(c);
  one<ORDER, 2, 4, NORM>(c);
  one<ORDER, 4, 1, NORM>(c);
  one<ORDER, 4, 2, NORM>(c);
  one<ORDER, 4, 4, NORM>(c);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  uint16_t* weight = device_alloc<uint16_t>(COLS);
  fill_bf16<<<32, 256>>>(weight, COLS, 5);
  for (int rows : {8192, 8001}) {
    size_t bytes = size_t(rows) * COLS * 2;
    for (bool norm : {true, false}) {
      Buffers buffers(bytes, norm ? bytes : size_t(rows) * 4);
      size_t moved = bytes + (norm ? bytes : size_t(rows) * 4);
      CopyBar bar(moved);
      bar.time(21);
      Timing copy = bar.time(41);
      Context c{json, rows, buffers, weight, copy.median_us, {}, 0};
      if (!norm) {
        std::vector<uint16_t> host(bytes / 2);
        CHECK(cudaMemcpy(host.data(), buffers.in[0], bytes, cudaMemcpyDeviceToHost));
        for (int i = 0; i < rows; ++i) c.expected.push_back(host_sum(host.data() + size_t(i) * COLS));
      }
      if (norm) by_block<true, FIXED>(c), by_block<true, FREE>(c);
      if (!norm) by_block<false, FIXED>(c), by_block<false, FREE>(c);
      Timing after = bar.time(41);
      json.line("{\"probe\":\"row_order\",\"kernel\":\"copy for %s\",\"rows\":%d,\"cols\":%d,\"us\":%.3f,\"p10\":%.3f,"
                "\"p90\":%.3f,\"us_after\":%.3f,\"gbs\":%.0f}",
                norm ? "rms_norm" : "row_sum", rows, COLS, copy.median_us, copy.low_us, copy.high_us, after.median_us,
                gb_per_s(moved, copy.median_us));
    }
  }
  return 0;
}
