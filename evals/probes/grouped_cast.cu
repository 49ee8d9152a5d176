// Cast bf16 -> e4m3 with one f32 scale for each row and group of 128 columns: tiles of R rows x 128
// columns per block, whole rows per block, and a flat range of groups per block.
// Usage: grouped_cast RESULT.jsonl
#include "access.cuh"
#include "probe.cuh"

// MARKSTEIN guards each element by branches; MARKSTEIN_VOTE computes without branches and repeats a thread's
// elements by IEEE division if any fails the guard; MARKSTEIN_SELECT has no slow path: a quotient under
// 2^-100 rounds to the same e4m3 zero either way, and |x / s| cannot overflow here.
// MARKSTEIN_REDO computes without branches too, and a warp in which any element fails the guard does all of
// its groups once more, by IEEE division, after its stores.
enum Divide { BY_RECIPROCAL, MARKSTEIN, MARKSTEIN_VOTE, MARKSTEIN_REDO, MARKSTEIN_SELECT, IEEE };
inline const char* divide_name(int d) {
  static const char* names[] = {"x * (1/s)", "markstein, branch an element", "markstein, vote a thread",
                                "markstein, redo a warp", "markstein, select", "ieee"};
  return names[d];
}

template <int D>
__device__ __forceinline__ float quotient(float a, float b, float y) {
  if constexpr (D == BY_RECIPROCAL) return __fmul_rn(a, y);
  if constexpr (D == IEEE) return __fdiv_rn(a, b);
  float q0 = __fmul_rn(a, y);
  float r = __fmaf_rn(b, q0, -a);
  float q = __fmaf_rn(r, -y, q0);
  bool safe = fabsf(a) >= 0x1p-100f && fabsf(q0) >= 0x1p-100f && fabsf(q0) < 0x1p127f;
  if constexpr (D >= MARKSTEIN_VOTE) return fabsf(q0) < 0x1p127f ? q : q0;
  if (safe) return q;
  if (a == 0.0f || !(fabsf(a) < __int_as_float(0x7f800000))) return q0;
  return __fdiv_rn(a, b);
}

// E elements a thread (8 or 16), 128 / E lanes a group.
template <int D, int E>
__device__ __forceinline__ bool cast_group(const uint4* v, uint8_t* q_out, float* scale_out, bool ok) {
  constexpr int LANES = 128 / E;
  float f[E];
#pragma unroll
  for (int j = 0; j < E / 8; ++j) unpack8(v[j], f + 8 * j);
  float m = 0.0f;
#pragma unroll
  for (int i = 0; i < E; ++i) m = fmaxf(m, fabsf(f[i]));
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  float s = __fdiv_rn(fmaxf(m, 1e-4f), 448.0f);
  float y = __frcp_rn(s);
  uint32_t w[E / 4];
  bool slow = false;
  if constexpr (D == MARKSTEIN_VOTE || D == MARKSTEIN_REDO) {
#pragma unroll
    for (int i = 0; i < E; ++i) slow |= f[i] != 0.0f && fabsf(f[i]) < __fmul_rn(fmaxf(s, 1.0f), 0x1p-100f);
  }
  if (D == MARKSTEIN_VOTE && slow) {
#pragma unroll
    for (int i = 0; i < E / 4; ++i) {
      uint32_t lo = pack_e4m3(__fdiv_rn(f[4 * i], s), __fdiv_rn(f[4 * i + 1], s));
      uint32_t hi = pack_e4m3(__fdiv_rn(f[4 * i + 2], s), __fdiv_rn(f[4 * i + 3], s));
      w[i] = lo | hi << 16;
    }
  } else {
#pragma unroll
    for (int i = 0; i < E / 4; ++i) {
      uint32_t lo = pack_e4m3(quotient<D>(f[4 * i], s, y), quotient<D>(f[4 * i + 1], s, y));
      uint32_t hi = pack_e4m3(quotient<D>(f[4 * i + 2], s, y), quotient<D>(f[4 * i + 3], s, y));
      w[i] = lo | hi << 16;
    }
  }
  if (!ok) return slow;
  if constexpr (E == 8) *(uint2*)q_out = make_uint2(w[0], w[1]);
  if constexpr (E == 16) *(uint4*)q_out = make_uint4(w[0], w[1], w[2], w[3]);
  if (threadIdx.x % LANES == 0) *scale_out = s;
  return slow;
}

struct Args {
  const uint16_t* x;
  uint8_t* q;
  float* scale;
  int rows, groups;
  bool scale_by_column;  // scale[group][row] instead of scale[row][group]
};

__device__ __forceinline__ float* scale_at(const Args& a, int row, int group) {
  return a.scale_by_column ? a.scale + (long long)group * a.rows + row : a.scale + (long long)row * a.groups + group;
}

// TILE: R rows x 128 columns a block; blocks run along the columns first. FLAT: R groups in memory order
// a block. ROW: a whole row a block, thread i takes groups i / LANES, i / LANES + THREADS / LANES, ...
enum Shape { TILE, FLAT, ROW };

template <int SHAPE, int E, int THREADS, int PASSES>
__device__ void redo_groups(const Args& a) {
  constexpr int LANES = 128 / E, PER_PASS = THREADS / LANES;
  int lane = threadIdx.x % LANES, slot = threadIdx.x / LANES;
#pragma unroll 1
  for (int p = 0; p < PASSES; ++p) {
    int index = p * PER_PASS + slot;
    long long flat = (long long)blockIdx.x * (SHAPE == FLAT ? PASSES * PER_PASS : a.groups) + index;
    if (SHAPE == TILE) flat = (blockIdx.x / a.groups * (PASSES * PER_PASS) + index) * (long long)a.groups + blockIdx.x % a.groups;
    bool ok = flat < (long long)a.rows * a.groups && (SHAPE != ROW || index < a.groups);
    uint4 v[E / 8];
#pragma unroll
    for (int j = 0; j < E / 8; ++j) v[j] = ok ? load16<LD_NC>(a.x + flat * 128 + lane * E + 8 * j) : make_uint4(0, 0, 0, 0);
    cast_group<IEEE, E>(v, a.q + flat * 128 + lane * E, scale_at(a, int(flat / a.groups), int(flat % a.groups)), ok);
  }
}

template <int SHAPE, int D, int E, int THREADS, int PASSES>
__global__ void __launch_bounds__(THREADS) cast_kernel(Args a) {
  constexpr int LANES = 128 / E, PER_PASS = THREADS / LANES;
  int lane = threadIdx.x % LANES, slot = threadIdx.x / LANES;
  uint4 v[PASSES][E / 8];
  int row[PASSES], group[PASSES];
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    int index = p * PER_PASS + slot;
    if constexpr (SHAPE == TILE) {
      row[p] = blockIdx.x / a.groups * (PASSES * PER_PASS) + index;
      group[p] = blockIdx.x % a.groups;
    } else if constexpr (SHAPE == FLAT) {
      long long flat = (long long)blockIdx.x * (PASSES * PER_PASS) + index;
      row[p] = int(flat / a.groups);
      group[p] = int(flat % a.groups);
    } else {
      row[p] = blockIdx.x;
      group[p] = index;
    }
    bool ok = row[p] < a.rows && group[p] < a.groups;
    const uint16_t* at = a.x + ((long long)row[p] * a.groups + group[p]) * 128 + lane * E;
#pragma unroll
    for (int j = 0; j < E / 8; ++j) v[p][j] = ok ? load16<LD_NC>(at + 8 * j) : make_uint4(0, 0, 0, 0);
  }
  bool slow = false;
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    bool ok = row[p] < a.rows && group[p] < a.groups;
    uint8_t* at = a.q + ((long long)row[p] * a.groups + group[p]) * 128 + lane * E;
    slow |= cast_group<D, E>(v[p], at, scale_at(a, row[p], group[p]), ok);
  }
  if constexpr (D == MARKSTEIN_REDO) {
    if (__any_sync(0xffffffffu, slow)) redo_groups<SHAPE, E, THREADS, PASSES>(a);
  }
}

__global__ void plant_tiny(uint16_t* x, long long n) {  // makes slow paths run in the checked set
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    if (mix64(i) % 16384 == 0) x[i] = uint16_t(x[i] & 0x80ffu);
}

__global__ void compare(const Args a, const Args b, int* wrong) {
  long long n = (long long)a.rows * a.groups * 128;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    int row = int(i / 128 / a.groups), group = int(i / 128 % a.groups);
    if (a.q[i] != b.q[i] || (i % 128 == 0 && *scale_at(a, row, group) != *scale_at(b, row, group))) atomicAdd(wrong, 1);
  }
}

struct Context {
  Json& json;
  int rows, cols;
  Buffers& buffers;
  double copy_us;
  Args reference;
  int* wrong;
};

template <int SHAPE, int D, int E, int THREADS, int PASSES>
void one(Context& c, bool by_column) {
  constexpr int LANES = 128 / E, TILE_GROUPS = THREADS / LANES * PASSES;
  int groups = c.cols / 128;
  if (SHAPE == ROW && (TILE_GROUPS < groups || TILE_GROUPS >= groups + THREADS / LANES)) return;
  long long blocks = SHAPE == TILE ? (long long)((c.rows + TILE_GROUPS - 1) / TILE_GROUPS) * groups
                     : SHAPE == FLAT ? ((long long)c.rows * groups + TILE_GROUPS - 1) / TILE_GROUPS
                                     : c.rows;
  size_t q_bytes = size_t(c.rows) * c.cols;
  auto args = [&](int b) {
    return Args{(uint16_t*)c.buffers.in[b], (uint8_t*)c.buffers.out[b], (float*)(c.buffers.out[b] + q_bytes), c.rows,
                groups, by_column};
  };
  auto launch = [&](int i) { cast_kernel<SHAPE, D, E, THREADS, PASSES><<<int(blocks), THREADS>>>(args(i % c.buffers.sets)); };
  CHECK(cudaMemset(c.buffers.out[0], 0xff, c.buffers.out_bytes));
  CHECK(cudaMemset(c.wrong, 0, 4));
  launch(0);
  compare<<<1024, 256>>>(args(0), c.reference, c.wrong);
  int wrong = -1;
  CHECK(cudaMemcpy(&wrong, c.wrong, 4, cudaMemcpyDeviceToHost));
  Timing t = time_launches(21, launch);
  static const char* shapes[] = {"tile", "flat", "row"};
  c.json.line("{\"probe\":\"grouped_cast\",\"rows\":%d,\"cols\":%d,\"shape\":\"%s\",\"divide\":\"%s\",\"bytes_a_thread\":%d,"
              "\"threads\":%d,\"passes\":%d,\"tile_rows\":%d,\"scales\":\"%s\",\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,"
              "\"gbs\":%.0f,\"of_copy\":%.4f,\"differ_from_reference\":%d}",
              c.rows, c.cols, shapes[SHAPE], divide_name(D), 2 * E, THREADS, PASSES, SHAPE == TILE ? TILE_GROUPS : 1,
              by_column ? "column" : "row", t.median_us, t.low_us, t.high_us,
              gb_per_s(q_bytes * 3 + size_t(c.rows) * groups * 4, t.median_us), c.copy_us / t.median_us, wrong);
}

template <int SHAPE, int D, int E, int THREADS>
void by_passes(Context& c, bool by_column) {
  one<SHAPE, D, E, THREADS, 1>(c, by_column);
  one<SHAPE, D, E, THREADS, 2>(c, by_column);
  one<SHAPE, D, E, THREADS, 4>(c, by_column);
  if constexpr (E == 8) one<SHAPE, D, E, THREADS, 8>(c, by_column);
}
template <int SHAPE, int D, int E>
void by_threads(Context& c, bool by_column) {
  by_passes<SHAPE, D, E, 128>(c, by_column);
  by_passes<SHAPE, D, E, 256>(c, by_column);
}
template <int D>
void by_shape(Context& c) {
  for (bool by_column : {false, true}) {
    by_threads<TILE, D, 8>(c, by_column);
    by_threads<TILE, D, 16>(c, by_column);
  }
  by_threads<FLAT, D, 8>(c, false);
  by_threads<FLAT, D, 16>(c, false);
  one<ROW, D, 8, 128, 7>(c, false);
  one<ROW, D, 8, 224, 4>(c, false);
  one<ROW, D, 8, 448, 2>(c, false);
  one<ROW, D, 8, 896, 1>(c, false);
  one<ROW, D, 16, 64, 7>(c, false);
  one<ROW, D, 16, 128, 4>(c, false);
  one<ROW, D, 16, 224, 2>(c, false);
  one<ROW, D, 16, 448, 1>(c, false);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  int* wrong = device_alloc<int>(1);
  for (int rows : {8192, 8001}) {
    int cols = 7168, groups = cols / 128;
    size_t in_bytes = size_t(rows) * cols * 2, out_bytes = size_t(rows) * cols + size_t(rows) * groups * 4;
    Buffers buffers(in_bytes, out_bytes);
    plant_tiny<<<1024, 256>>>((uint16_t*)buffers.in[0], (long long)rows * cols);
    CopyBar bar(in_bytes + out_bytes);
    bar.time(21);
    Timing copy = bar.time(41);
    Args reference{(uint16_t*)buffers.in[0], device_alloc<uint8_t>(size_t(rows) * cols), device_alloc<float>(size_t(rows) * groups),
                   rows, groups, false};
    Context c{json, rows, cols, buffers, copy.median_us, reference, wrong};
    cast_kernel<FLAT, IEEE, 8, 128, 1><<<int(((long long)rows * groups + 7) / 8), 128>>>(reference);
    by_shape<MARKSTEIN_SELECT>(c);
    by_shape<MARKSTEIN_VOTE>(c);
    by_shape<MARKSTEIN_REDO>(c);
    by_shape<BY_RECIPROCAL>(c);
    if (rows == 8192) by_shape<MARKSTEIN>(c);
    if (rows == 8192) by_shape<IEEE>(c);
    Timing after = bar.time(41);
    json.line("{\"probe\":\"grouped_cast\",\"rows\":%d,\"cols\":%d,\"shape\":\"copy\",\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,"
              "\"us_after\":%.3f,\"gbs\":%.0f}",
              rows, cols, copy.median_us, copy.low_us, copy.high_us, after.median_us, gb_per_s(in_bytes + out_bytes, copy.median_us));
    CHECK(cudaFree(reference.q));
    CHECK(cudaFree(reference.scale));
  }
  return 0;
}
