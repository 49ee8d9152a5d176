// A sum over the 128 columns of an m64n128 (or sixteen m16n8) accumulator held in registers: a thread
// holds, for each of two rows, 32 values; column bits 0, 3, 4, 5, 6 are registers and bits 1, 2 lanes.
// The law's order 0, 3, 4, 5, 6, 7, 1, 2 against free orders and against the row kernels' order, in SM
// cycles per warp and fragment with 1, 2 and 4 warps on each scheduler; subtract the last line's cycles.
// Usage: fragment_order RESULT.jsonl
#include "probe.cuh"

enum Order { LAW, CHAIN, FOUR_CHAINS, ROW_KERNEL, NONE, N_ORDERS };

__device__ __forceinline__ float across(float v, int mask) { return __fadd_rn(v, __shfl_xor_sync(0xffffffffu, v, mask)); }

// a[2 * tile + bit0]: value of column 8 * tile + 2 * (lane % 4) + bit0.
template <int ORDER>
__device__ __forceinline__ float row_sum(const float* a) {
  if constexpr (ORDER == LAW) {
    float t[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) t[i] = __fadd_rn(a[2 * i], a[2 * i + 1]);
#pragma unroll
    for (int d = 1; d < 16; d *= 2)
#pragma unroll
      for (int i = 0; i < 16; i += 2 * d) t[i] = __fadd_rn(t[i], t[i + d]);
    return across(across(t[0], 1), 2);
  }
  if constexpr (ORDER == CHAIN) {
    float s = a[0];
#pragma unroll
    for (int i = 1; i < 32; ++i) s = __fadd_rn(s, a[i]);
    return across(across(s, 1), 2);
  }
  if constexpr (ORDER == FOUR_CHAINS) {
    float s[4] = {a[0], a[1], a[2], a[3]};
#pragma unroll
    for (int i = 4; i < 32; ++i) s[i % 4] = __fadd_rn(s[i % 4], a[i]);
    return across(across(__fadd_rn(__fadd_rn(s[0], s[1]), __fadd_rn(s[2], s[3])), 1), 2);
  }
  if constexpr (ORDER == ROW_KERNEL) {
    float t[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) t[i] = across(across(__fadd_rn(a[2 * i], a[2 * i + 1]), 1), 2);
#pragma unroll
    for (int d = 1; d < 16; d *= 2)
#pragma unroll
      for (int i = 0; i < 16; i += 2 * d) t[i] = __fadd_rn(t[i], t[i + d]);
    return t[0];
  }
  return 0.0f;
}

template <int ORDER>
__global__ void fragment(float* out, long long* cycles, int iterations, float seed) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = seed * float(i + 1) + float(threadIdx.x);
  float total = 0.0f;
  __syncthreads();
  long long start = clock64();
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = __fadd_rn(a[i], seed);  // new values, as from a product
    if constexpr (ORDER != NONE) total = __fadd_rn(total, __fadd_rn(row_sum<ORDER>(a), row_sum<ORDER>(a + 32)));
  }
  long long stop = clock64();
#pragma unroll
  for (int i = 0; i < 64; ++i) total += a[i];  // keeps every value alive
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
  if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
}

template <int ORDER>
void one(Json& json, const char* name) {
  float* out = device_alloc<float>(132 * 1024);
  long long* cycles = device_alloc<long long>(132);
  for (int warps : {4, 8, 16}) {
    fragment<ORDER><<<132, 32 * warps>>>(out, cycles, 2000, 0.5f);
    fragment<ORDER><<<132, 32 * warps>>>(out, cycles, 2000, 0.5f);
    CHECK(cudaDeviceSynchronize());
    long long c[132];
    CHECK(cudaMemcpy(c, cycles, sizeof c, cudaMemcpyDeviceToHost));
    std::sort(c, c + 132);
    json.line("{\"probe\":\"fragment_order\",\"order\":\"%s\",\"warps_a_scheduler\":%d,\"cycles_a_fragment\":%.1f,"
              "\"cycles_a_fragment_and_warp\":%.1f}",
              name, warps / 4, c[66] / 2000.0, c[66] / 2000.0 / (warps / 4));
  }
  CHECK(cudaFree(out));
  CHECK(cudaFree(cycles));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Json json(argv[1]);
  one<LAW>(json, "0,3,4,5,6,1,2 (law)");
  one<CHAIN>(json, "free: one chain, then lanes");
  one<FOUR_CHAINS>(json, "free: four chains, then lanes");
  one<ROW_KERNEL>(json, "0,1,2,3,4,5,6 (row kernels' order)");
  one<NONE>(json, "no sum: 64 additions that make new values");
  return 0;
}
