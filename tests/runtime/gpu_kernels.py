"""Two kernels with their ABI, for tests of launches."""

from agentkern.compiler.abi import Argument, KernelAbi, Launch, ScalarParam, Variant
from agentkern.compiler.ir import dims
from agentkern.dsl.dtypes import DTYPES
from tests.runtime.signatures import signature, tensor

I64, F32 = DTYPES["i64"], DTYPES["f32"]

SCALE = """
extern "C" __global__ void __launch_bounds__(128, 1) scale(const float* x, float* out, long long n, float factor) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i < n) out[i] = __fmul_rn(x[i], factor);
}
"""

# Writes through 100 KiB of dynamic shared memory, which needs the function attribute.
REVERSE = """
extern "C" __global__ void __launch_bounds__(1024, 1) reverse(const float* x, float* out, long long n, float factor) {
  extern __shared__ __align__(1024) unsigned char ak_smem[];
  float* tile = (float*)ak_smem;
  for (int i = threadIdx.x; i < n; i += 1024) tile[n - 1 - i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 1024) out[i] = __fmul_rn(tile[i], factor);
}
"""


def abi(function: str, blocks: str, threads: int, shared_bytes: int = 0) -> KernelAbi:
    sig = signature(tensor("x", "f32", "N"), tensor("out", "f32", "N", "out"), ScalarParam("factor", F32, 2.0))
    arguments = (
        Argument("pointer", "x", F32),
        Argument("pointer", "out", F32),
        Argument("size", "N", I64),
        Argument("scalar", "factor", F32),
    )
    launch = Launch(function, dims.parse(blocks), threads, shared_bytes, arguments)
    return KernelAbi(function, sig.params, sig.sizes, (), (launch,), Variant(alignment=4))


SCALE_ABI = abi("scale", "(N + 127) // 128", 128)
REVERSE_ABI = abi("reverse", "1", 1024, shared_bytes=100 * 1024)
