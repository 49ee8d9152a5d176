// Shared by the probes: error checks, device memory, timing, JSON lines, hashing.
// Every probe writes one JSON object a line to the file named by its first argument.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t status_ = (call);                                                     \
    if (status_ != cudaSuccess) {                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

struct Json {
  FILE* file;
  explicit Json(const char* path) : file(fopen(path, "w")) {
    if (!file) exit(2);
  }
  ~Json() { fclose(file); }
  void line(const char* format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fputc('\n', file);
    fflush(file);
  }
};

template <class T>
T* device_alloc(size_t n) {
  T* p = nullptr;
  CHECK(cudaMalloc(&p, n * sizeof(T)));
  return p;
}

__host__ __device__ inline uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Order-free digest of a function on 32-bit inputs: the sum over x of mix64(x, f(x)) modulo 2^64.
__host__ __device__ inline uint64_t digest_term(uint32_t x, uint32_t y) {
  return mix64((uint64_t(x) << 32 | y) + 0x9e3779b97f4a7c15ull);
}

struct Timing {
  double median_us, low_us, high_us;  // low and high: 10th and 90th percentile
};

__global__ void spin_cycles(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

// Times each launch by its own pair of events, queued behind a spinning kernel so that the host never
// lags. `launch(i)` must rotate its buffers by i so that nothing is left in the L2 from launch i - 1.
inline Timing time_launches(int n, const std::function<void(int)>& launch) {
  std::vector<cudaEvent_t> events(2 * n);
  for (auto& e : events) CHECK(cudaEventCreate(&e));
  for (int i = 0; i < 3; ++i) launch(i);
  CHECK(cudaDeviceSynchronize());
  spin_cycles<<<1, 1>>>(1500000);
  for (int i = 0; i < n; ++i) {
    CHECK(cudaEventRecord(events[2 * i]));
    launch(i);
    CHECK(cudaEventRecord(events[2 * i + 1]));
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<double> us(n);
  for (int i = 0; i < n; ++i) {
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, events[2 * i], events[2 * i + 1]));
    us[i] = ms * 1e3;
  }
  for (auto& e : events) CHECK(cudaEventDestroy(e));
  std::sort(us.begin(), us.end());
  return {us[n / 2], us[n / 10], us[n - 1 - n / 10]};
}

// Buffers of random bf16 values in [-4, 4) and output buffers, enough sets to exceed the L2 by far.
__global__ void fill_bf16(uint16_t* p, size_t n, uint32_t seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    uint64_t h = mix64(i * 0x9e3779b97f4a7c15ull + seed);
    float v = (float(uint32_t(h >> 40)) * (1.0f / 16777216.0f) - 0.5f) * 8.0f;
    p[i] = uint16_t(__float_as_uint(v) >> 16);
  }
}

struct Buffers {
  size_t in_bytes, out_bytes;
  int sets;
  std::vector<char*> in, out;
  Buffers(size_t in_bytes_, size_t out_bytes_) : in_bytes(in_bytes_), out_bytes(out_bytes_) {
    size_t both = in_bytes + out_bytes;
    sets = int(std::max<size_t>(3, (size_t(768) << 20) / both + 1));
    for (int s = 0; s < sets; ++s) {
      in.push_back(device_alloc<char>(in_bytes + 256));
      out.push_back(device_alloc<char>(out_bytes + 256));
      fill_bf16<<<1024, 256>>>((uint16_t*)in[s], in_bytes / 2, 17 + s);
      CHECK(cudaMemset(out[s], 0xff, out_bytes));
    }
    CHECK(cudaDeviceSynchronize());
  }
  ~Buffers() {
    for (auto p : in) cudaFree(p);
    for (auto p : out) cudaFree(p);
  }
};

// A device copy that moves the given number of bytes in all (half read, half written).
struct CopyBar {
  size_t bytes;
  std::vector<char*> a, b;
  explicit CopyBar(size_t moved) : bytes((moved / 2 + 255) / 256 * 256) {
    int sets = int(std::max<size_t>(3, (size_t(768) << 20) / (2 * bytes) + 1));
    for (int s = 0; s < sets; ++s) {
      a.push_back(device_alloc<char>(bytes));
      b.push_back(device_alloc<char>(bytes));
      fill_bf16<<<1024, 256>>>((uint16_t*)a[s], bytes / 2, 99 + s);
    }
    CHECK(cudaDeviceSynchronize());
  }
  ~CopyBar() {
    for (auto p : a) cudaFree(p);
    for (auto p : b) cudaFree(p);
  }
  Timing time(int n) {
    return time_launches(n, [&](int i) {
      int s = i % int(a.size());
      CHECK(cudaMemcpyAsync(b[s], a[s], bytes, cudaMemcpyDeviceToDevice, 0));
    });
  }
};

inline double gb_per_s(size_t moved, double us) { return double(moved) / us * 1e-3; }
