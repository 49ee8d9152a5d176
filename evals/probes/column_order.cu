// The fixed order of a sum off the last axis (panels of PANEL rows; 32 interleaved partial sums, row i to
// partial i mod 32, each in ascending order; a tree over the partial's bits 0..4; panels combined pairwise
// as a binary counter does) against a free order; two kernels or one; strips of 64 to 256 columns.
// Usage: column_order RESULT.jsonl
#include "access.cuh"
#include "probe.cuh"

#include <map>

struct Args {
  const uint16_t* x;
  uint16_t* out;
  float* partial;  // [panel][column]
  unsigned* arrived;  // one counter a strip
  int rows, cols, panels;
};

// Combine the panels of one column pairwise. A tree over a power of two, padded with -0.0, gives the same
// bits as the binary counter, since x + -0.0 == x; all loads are in flight at once.
template <int P>
__device__ float combine_panels(const float* partial, int panels, long long stride) {
  float v[P];
#pragma unroll
  for (int p = 0; p < P; ++p) v[p] = p < panels ? __ldcg(partial + p * stride) : -0.0f;
#pragma unroll
  for (int d = 1; d < P; d *= 2)
#pragma unroll
    for (int p = 0; p < P; p += 2 * d) v[p] = __fadd_rn(v[p], v[p + d]);
  return v[0];
}

enum Kind { FIXED_TWO_KERNELS, FIXED_ONE_KERNEL, FREE_ATOMIC, N_KINDS };

// LANES threads cover a strip of 8 * LANES columns, PPT neighbouring partials a thread; a block sums GROUP
// neighbouring panels (an aligned power of two, so a subtree of the combining tree).
template <int KIND, int LANES, int PPT, int PANEL, int GROUP>
__global__ void __launch_bounds__(LANES * 32 / PPT) panel_sum(Args a) {
  constexpr int SLOTS = 32 / PPT, COLS = LANES * 8, STEPS = PANEL / 32;
  constexpr int AHEAD = PPT >= 4 ? 2 : STEPS < 8 / PPT ? STEPS : 8 / PPT;  // up to 8 loads in flight
  static_assert(LANES * SLOTS >= COLS, "one column a thread");
  __shared__ float shared[SLOTS][COLS];
  int lane = threadIdx.x % LANES, slot = threadIdx.x / LANES;
  int strips = (a.cols + COLS - 1) / COLS;
  int strip = blockIdx.x % strips, group = blockIdx.x / strips;
  int col = strip * COLS + lane * 8, column = strip * COLS + threadIdx.x;
  bool mine = threadIdx.x < COLS && column < a.cols;
  float sums[GROUP];
#pragma unroll
  for (int g = 0; g < GROUP; ++g) {
    int first = (group * GROUP + g) * PANEL, last = min(first + PANEL, a.rows);
    float acc[PPT][8];
#pragma unroll
    for (int j = 0; j < PPT; ++j)
#pragma unroll
      for (int i = 0; i < 8; ++i) acc[j][i] = -0.0f;
    if (col < a.cols) {
      for (int s = 0; s < STEPS; s += AHEAD) {
        uint4 v[AHEAD][PPT];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
#pragma unroll
          for (int j = 0; j < PPT; ++j) {
            int row = first + (s + u) * 32 + slot * PPT + j;
            v[u][j] = row < last ? load16<LD_NC>(a.x + (long long)row * a.cols + col)
                                 : make_uint4(0x80008000u, 0x80008000u, 0x80008000u, 0x80008000u);
          }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
#pragma unroll
          for (int j = 0; j < PPT; ++j) {
            float f[8];
            unpack8(v[u][j], f);
#pragma unroll
            for (int i = 0; i < 8; ++i) acc[j][i] = __fadd_rn(acc[j][i], f[i]);
          }
      }
    }
#pragma unroll
    for (int d = 1; d < PPT; d *= 2)
#pragma unroll
      for (int j = 0; j < PPT; j += 2 * d)
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[j][i] = __fadd_rn(acc[j][i], acc[j + d][i]);
    if (g > 0) __syncthreads();
    *(float4*)&shared[slot][lane * 8] = make_float4(acc[0][0], acc[0][1], acc[0][2], acc[0][3]);
    *(float4*)&shared[slot][lane * 8 + 4] = make_float4(acc[0][4], acc[0][5], acc[0][6], acc[0][7]);
    __syncthreads();
    if (mine) {
      float t[SLOTS];
#pragma unroll
      for (int s = 0; s < SLOTS; ++s) t[s] = shared[s][threadIdx.x];
#pragma unroll
      for (int d = 1; d < SLOTS; d *= 2)
#pragma unroll
        for (int s = 0; s < SLOTS; s += 2 * d) t[s] = __fadd_rn(t[s], t[s + d]);
      sums[g] = t[0];
    }
  }
  if (mine) {
#pragma unroll
    for (int d = 1; d < GROUP; d *= 2)
#pragma unroll
      for (int g = 0; g < GROUP; g += 2 * d) sums[g] = __fadd_rn(sums[g], sums[g + d]);
    if constexpr (KIND == FREE_ATOMIC) atomicAdd(a.partial + column, sums[0]);
    else a.partial[(long long)group * a.cols + column] = sums[0];
  }
  if constexpr (KIND == FIXED_ONE_KERNEL) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicInc(a.arrived + strip, a.panels - 1) == unsigned(a.panels - 1);
    __syncthreads();
    if (!is_last || !mine) return;
    __threadfence();
    float total = combine_panels<8192 / PANEL / GROUP>(a.partial + column, a.panels, a.cols);
    a.out[column] = uint16_t(pack_bf16(total, 0.0f));
  }
}

template <int P>
__global__ void finish_panels(Args a) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < a.cols) a.out[column] = uint16_t(pack_bf16(combine_panels<P>(a.partial + column, a.panels, a.cols), 0.0f));
}
__global__ void finish_atomic(Args a) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < a.cols) a.out[column] = uint16_t(pack_bf16(a.partial[column], 0.0f)), a.partial[column] = 0.0f;
}

uint16_t host_bf16(float v) {
  uint32_t b;
  memcpy(&b, &v, 4);
  return uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

// The law, one column, on the host.
float host_column(const uint16_t* x, int rows, int cols, int column, int panel_rows) {
  std::vector<float> stack;
  int panels = (rows + panel_rows - 1) / panel_rows;
  for (int p = 0; p < panels; ++p) {
    float part[32];
    for (float& v : part) v = -0.0f;
    for (int r = p * panel_rows; r < std::min(rows, (p + 1) * panel_rows); ++r) {
      uint32_t bits = uint32_t(x[size_t(r) * cols + column]) << 16;
      float f;
      memcpy(&f, &bits, 4);
      part[r % 32] += f;
    }
    for (int d = 1; d < 32; d *= 2)
      for (int i = 0; i < 32; i += 2 * d) part[i] += part[i + d];
    float v = part[0];
    for (int q = p; q & 1; q >>= 1) v = stack.back() + v, stack.pop_back();
    stack.push_back(v);
  }
  float v = stack.back();
  for (stack.pop_back(); !stack.empty(); stack.pop_back()) v = stack.back() + v;
  return v;
}

struct Context {
  Json& json;
  int rows, cols;
  Buffers& buffers;
  const std::vector<uint16_t>& host;
  float* partial;
  unsigned* arrived;
  double copy_us;
  int reps;
  std::map<int, std::vector<uint16_t>> expected;  // by panel, every 37th column
};

template <int KIND, int LANES, int PPT, int PANEL, int GROUP>
void one(Context& c) {
  constexpr int COLS = LANES * 8;
  int panels = (c.rows + PANEL * GROUP - 1) / (PANEL * GROUP), strips = (c.cols + COLS - 1) / COLS;
  auto args = [&](int i) {
    int b = i % c.buffers.sets;
    return Args{(uint16_t*)c.buffers.in[b], (uint16_t*)c.buffers.out[b], c.partial, c.arrived, c.rows, c.cols, panels};
  };
  auto launch = [&](int i) {
    panel_sum<KIND, LANES, PPT, PANEL, GROUP><<<panels * strips, LANES * 32 / PPT>>>(args(i));
    if (KIND == FIXED_TWO_KERNELS) finish_panels<8192 / PANEL / GROUP><<<(c.cols + 127) / 128, 128>>>(args(i));
    if (KIND == FREE_ATOMIC) finish_atomic<<<(c.cols + 127) / 128, 128>>>(args(i));
  };
  CHECK(cudaMemset(c.arrived, 0, 4096));
  CHECK(cudaMemset(c.partial, 0, size_t(c.cols) * 4));
  CHECK(cudaMemset(c.buffers.out[0], 0xff, c.cols * 2));
  launch(0);
  std::vector<uint16_t> got(c.cols);
  CHECK(cudaMemcpy(got.data(), c.buffers.out[0], c.cols * 2, cudaMemcpyDeviceToHost));
  std::vector<uint16_t>& expected = c.expected[PANEL];
  if (expected.empty())
    for (int col = 0; col < c.cols; col += 37)
      expected.push_back(host_bf16(host_column(c.host.data(), c.rows, c.cols, col, PANEL)));
  int checked = int(expected.size()), equal = 0;
  for (int i = 0; i < checked; ++i) equal += got[37 * i] == expected[i];
  Timing t = time_launches(c.reps, launch);
  static const char* kinds[] = {"fixed, two kernels", "fixed, one kernel", "free, atomics"};
  size_t moved = size_t(c.rows) * c.cols * 2 + c.cols * 2;
  c.json.line("{\"probe\":\"column_order\",\"rows\":%d,\"cols\":%d,\"kind\":\"%s\",\"strip\":%d,\"partials_a_thread\":%d,"
              "\"threads\":%d,\"panel\":%d,\"panels_a_block\":%d,\"blocks\":%d,\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,\"gbs\":%.0f,"
              "\"of_copy\":%.4f,\"columns_checked\":%d,\"columns_equal_to_law\":%d}",
              c.rows, c.cols, kinds[KIND], COLS, PPT, LANES * 32 / PPT, PANEL, GROUP, panels * strips, t.median_us, t.low_us,
              t.high_us, gb_per_s(moved, t.median_us), c.copy_us / t.median_us, checked, equal);
}

template <int LANES, int PPT, int PANEL, int GROUP>
void by_kind(Context& c) {
  one<FIXED_TWO_KERNELS, LANES, PPT, PANEL, GROUP>(c);
  one<FIXED_ONE_KERNEL, LANES, PPT, PANEL, GROUP>(c);
  one<FREE_ATOMIC, LANES, PPT, PANEL, GROUP>(c);
}
template <int PANEL, int GROUP>
void by_tile(Context& c) {
  by_kind<8, 1, PANEL, GROUP>(c);
  by_kind<8, 2, PANEL, GROUP>(c);
  by_kind<16, 1, PANEL, GROUP>(c);
  by_kind<16, 2, PANEL, GROUP>(c);
  by_kind<16, 4, PANEL, GROUP>(c);
  by_kind<32, 1, PANEL, GROUP>(c);
  by_kind<32, 2, PANEL, GROUP>(c);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  float* partial = device_alloc<float>(64 * 7168);
  unsigned* arrived = device_alloc<unsigned>(1024);
  const int shapes[][2] = {{8192, 7168}, {8001, 7168}, {4001, 576}};
  for (auto& shape : shapes) {
    int rows = shape[0], cols = shape[1];
    size_t bytes = size_t(rows) * cols * 2;
    Buffers buffers(bytes, size_t(cols) * 2);
    CopyBar bar(bytes + cols * 2);
    int reps = 31;
    bar.time(reps);
    Timing copy = bar.time(2 * reps);
    std::vector<uint16_t> host(bytes / 2);
    CHECK(cudaMemcpy(host.data(), buffers.in[0], bytes, cudaMemcpyDeviceToHost));
    Context c{json, rows, cols, buffers, host, partial, arrived, copy.median_us, reps, {}};
    by_tile<128, 1>(c), by_tile<128, 2>(c), by_tile<128, 4>(c), by_tile<128, 8>(c);
    by_tile<256, 1>(c), by_tile<256, 2>(c), by_tile<256, 4>(c);
    by_tile<512, 1>(c), by_tile<512, 2>(c);
    by_tile<1024, 1>(c);
    one<FIXED_ONE_KERNEL, 8, 1, 8192, 1>(c);
    Timing after = bar.time(2 * reps);
    json.line("{\"probe\":\"column_order\",\"rows\":%d,\"cols\":%d,\"kind\":\"copy\",\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,"
              "\"us_after\":%.3f,\"gbs\":%.0f}",
              rows, cols, copy.median_us, copy.low_us, copy.high_us, after.median_us, gb_per_s(bytes, copy.median_us));
  }
  return 0;
}
