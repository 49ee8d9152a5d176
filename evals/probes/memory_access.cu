// Which form of 16-byte access reaches a device copy's speed in an element-wise bf16 kernel
// (out = bf16(x * s)), and whether a grid of all blocks or a persistent grid does.
// Usage: memory_access RESULT.jsonl
#include "access.cuh"
#include "probe.cuh"

// One block covers THREADS * V vectors; a thread's V loads are all issued before the first use.
template <int L, int S, int V, int THREADS>
__global__ void __launch_bounds__(THREADS) scale(const uint4* x, uint4* out, float s, long long n) {
  long long base = (long long)blockIdx.x * (THREADS * V) + threadIdx.x;
  uint4 v[V];
#pragma unroll
  for (int j = 0; j < V; ++j)
    if (base + j * THREADS < n) v[j] = load16<L>(x + base + j * THREADS);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    float f[8];
    unpack8(v[j], f);
#pragma unroll
    for (int i = 0; i < 8; ++i) f[i] = __fmul_rn(f[i], s);
    if (base + j * THREADS < n) store16<S>(out + base + j * THREADS, pack8(f));
  }
}

template <int L, int S, int V, int THREADS>
__global__ void __launch_bounds__(THREADS) scale_persistent(const uint4* x, uint4* out, float s, long long n) {
  for (long long tile = blockIdx.x; tile * (THREADS * V) < n; tile += gridDim.x) {
    long long base = tile * (THREADS * V) + threadIdx.x;
    uint4 v[V];
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (base + j * THREADS < n) v[j] = load16<L>(x + base + j * THREADS);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      float f[8];
      unpack8(v[j], f);
#pragma unroll
      for (int i = 0; i < 8; ++i) f[i] = __fmul_rn(f[i], s);
      if (base + j * THREADS < n) store16<S>(out + base + j * THREADS, pack8(f));
    }
  }
}

__global__ void count_wrong(const uint16_t* x, const uint16_t* out, float s, long long n, int* wrong) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float v = __fmul_rn(__uint_as_float(uint32_t(x[i]) << 16), s);
    if (uint16_t(pack_bf16(v, 0.0f)) != out[i]) atomicAdd(wrong, 1);
  }
}

struct Shape {
  int rows, cols;
};

struct Context {
  Json& json;
  Shape shape;
  Buffers& buffers;
  double copy_us;
  int reps;
  int* wrong;
};

template <class Launch>
void measure(Context& c, const char* grid, int l, int s, int v, int threads, Launch launch) {
  long long n = (long long)c.shape.rows * c.shape.cols;
  CHECK(cudaMemset(c.buffers.out[0], 0xff, n * 2));
  CHECK(cudaMemset(c.wrong, 0, 4));
  launch(0);
  count_wrong<<<1024, 256>>>((uint16_t*)c.buffers.in[0], (uint16_t*)c.buffers.out[0], 0.37f, n, c.wrong);
  int wrong = -1;
  CHECK(cudaMemcpy(&wrong, c.wrong, 4, cudaMemcpyDeviceToHost));
  Timing t = time_launches(c.reps, launch);
  c.json.line(
      "{\"probe\":\"memory_access\",\"rows\":%d,\"cols\":%d,\"grid\":\"%s\",\"load\":\"%s\",\"store\":\"%s\","
      "\"vectors\":%d,\"threads\":%d,\"us\":%.3f,\"p10\":%.3f,\"p90\":%.3f,\"gbs\":%.0f,\"of_copy\":%.4f,\"wrong\":%d}",
      c.shape.rows, c.shape.cols, grid, load_name(l), store_name(s), v, threads, t.median_us, t.low_us, t.high_us,
      gb_per_s(n * 4, t.median_us), c.copy_us / t.median_us, wrong);
}

template <int L, int S, int V, int THREADS>
void one(Context& c) {
  long long vectors = (long long)c.shape.rows * c.shape.cols / 8;
  int tiles = int((vectors + THREADS * V - 1) / (THREADS * V));
  measure(c, "full", L, S, V, THREADS, [&](int i) {
    int b = i % c.buffers.sets;
    scale<L, S, V, THREADS><<<tiles, THREADS>>>((uint4*)c.buffers.in[b], (uint4*)c.buffers.out[b], 0.37f, vectors);
  });
  if constexpr (L == LD_NC && (S == ST || S == ST_CS)) {
    int per_sm = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, scale_persistent<L, S, V, THREADS>, THREADS, 0));
    measure(c, "persistent", L, S, V, THREADS, [&](int i) {
      int b = i % c.buffers.sets;
      scale_persistent<L, S, V, THREADS><<<std::min(tiles, 132 * per_sm), THREADS>>>(
          (uint4*)c.buffers.in[b], (uint4*)c.buffers.out[b], 0.37f, vectors);
    });
  }
}

template <int L, int S, int V>
void by_threads(Context& c) {
  one<L, S, V, 128>(c);
  one<L, S, V, 256>(c);
  one<L, S, V, 512>(c);
}
template <int L, int S>
void by_vectors(Context& c) {
  by_threads<L, S, 1>(c);
  by_threads<L, S, 2>(c);
  by_threads<L, S, 4>(c);
  by_threads<L, S, 8>(c);
}
template <int L>
void by_store(Context& c) {
  by_vectors<L, ST>(c);
  by_vectors<L, ST_CS>(c);
  by_vectors<L, ST_NOALLOC>(c);
  by_vectors<L, ST_WT>(c);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  int* wrong = device_alloc<int>(1);
  for (Shape shape : {Shape{8192, 7168}, Shape{8001, 7168}, Shape{4001, 576}}) {
    size_t bytes = size_t(shape.rows) * shape.cols * 2;
    Buffers buffers(bytes, bytes);
    CopyBar bar(bytes * 2);
    int reps = shape.cols > 1000 ? 21 : 41;
    bar.time(reps);
    Timing before = bar.time(2 * reps);
    Context c{json, shape, buffers, before.median_us, reps, wrong};
    by_store<LD>(c);
    by_store<LD_NC>(c);
    by_store<LD_NC_NOALLOC>(c);
    by_store<LD_NC_EVICT_FIRST>(c);
    by_store<LD_NC_L2_256>(c);
    by_store<LD_NOALLOC>(c);
    Timing after = bar.time(2 * reps);
    json.line("{\"probe\":\"memory_access\",\"rows\":%d,\"cols\":%d,\"grid\":\"copy\",\"us\":%.3f,\"p10\":%.3f,"
              "\"p90\":%.3f,\"us_after\":%.3f,\"gbs\":%.0f}",
              shape.rows, shape.cols, before.median_us, before.low_us, before.high_us, after.median_us,
              gb_per_s(bytes * 2, before.median_us));
  }
  return 0;
}
