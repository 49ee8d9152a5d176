/* launches
[{"kernel": "add", "grid": ["ceil_div(N, 256)"], "block": [256], "arguments": ["x", "y", "out", "N"]}]
*/
extern "C" __global__ void add(const float* x, const float* y, float* out, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + z[i];
}
