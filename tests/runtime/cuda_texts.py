"""Small CUDA texts shared by the tests of the runtime."""

TWO_KERNELS = """
extern "C" __global__ void __launch_bounds__(128, 1) scale(const float* x, float* out, long long n) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i < n) out[i] = x[i] * 2.0f + 1.0f;
}
extern "C" __global__ void __launch_bounds__(128, 1) flip(const float* x, float* out) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];
}
"""

# 100 live values in 32 registers cannot but spill.
SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spill(const float* x, float* out) {
  float a[100];
#pragma unroll
  for (int i = 0; i < 100; i++) a[i] = x[threadIdx.x + i * 1024];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 100; i++) out[threadIdx.x + i * 1024] = a[99 - i] * a[(i * 7) % 100];
}
"""

UNDEFINED_NAME = """extern "C" __global__ void broken(float* out) {
  out[0] = 1.0f;
  out[1] = missing(1);
}
"""

BOGUS_INSTRUCTION = """extern "C" __global__ void broken(float* out) {
  asm volatile("bogus.f32 %0, 1;" : "=f"(out[0]));
}
"""

TOO_MUCH_SHARED = """extern "C" __global__ void broken(float* out) {
  __shared__ float tile[100000];
  tile[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = tile[99999 - threadIdx.x];
}
"""


def warpgroup_product(touch_accumulator: str) -> str:
    """A wgmma whose accumulator is touched by `touch_accumulator` while the product may still run."""
    return (
        """
extern "C" __global__ void __launch_bounds__(128, 1) product(unsigned long long a, unsigned long long b, float* out) {
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  for (int k = 0; k < 4; k++) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "l"(a + k), "l"(b + k));
    """
        + touch_accumulator
        + """
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) :: "memory");
  }
  out[threadIdx.x] = c0 + c1 + c2 + c3;
}
"""
    )
