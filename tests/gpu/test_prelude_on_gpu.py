"""Every prelude function on the GPU gives the bits that the simulator gives on this machine.

The inline PTX of an instruction function is the one text that the simulator cannot run: here it meets the shim's
meaning of the same name, over all codes of narrow types and over the inputs that decide roundings.
"""

import numpy as np
import pytest
import torch

from agentkern.compiler.codegen.prelude import PreludeFunction, prelude_text
from agentkern.compiler.ir.reference_formats import STORAGE
from agentkern.runtime.driver import driver
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from tests.compiler.codegen.host_prelude import DTYPE_OF, HostPrelude, same_bits, sampled_floats, signature, value_rows

pytestmark = [pytest.mark.gpu, pytest.mark.toolchain]
# a large angle's reduction is defined for large angles only; it is reached through sine and cosine
PARTIAL = ("ak_sin_large_f32", "ak_cos_large_f32", "ak_angle_large_f32")
# usual forms are held to their definitions wherever they say that they hold: test_usual_forms_on_gpu.py
VALUE_ROWS = [row for row in value_rows() if row.name not in PARTIAL and not row.name.startswith("ak_usual_")]
# their instruction may keep a NaN's payload or not: an IR operation repairs it where it shows
KEEPS_PAYLOADS = ("ak_cvt_f32_f16", "ak_cvt_f64_f32", "ak_neg_f32", "ak_abs_f32")


def inputs_of(row: PreludeFunction) -> list[np.ndarray]:
    """One array per parameter: sampled floats, all 16-bit codes, or integers of every magnitude."""
    count = sampled_floats().size
    arrays: list[np.ndarray] = []
    for position, c_type in enumerate(signature(row)[1]):
        storage = np.dtype(STORAGE[DTYPE_OF[c_type]])
        if c_type == "float":
            x = np.roll(sampled_floats(), 77777 * position)
        elif c_type == "double":
            x = np.random.default_rng(1).integers(0, 1 << 64, count, dtype=np.uint64).view(np.float64)
            x[::2] = np.where(np.isnan(sampled_floats()[::2]), 1.5, sampled_floats()[::2]).astype(np.float64)
        else:
            words = np.random.default_rng(position).integers(0, 1 << 64, count, dtype=np.uint64)
            words >>= np.arange(count, dtype=np.uint64) % np.uint64(64)
            words[: 1 << 16] = np.arange(1 << 16)
            x = words.astype(np.dtype(f"u{storage.itemsize}")).view(storage)
            if position == 1:
                x = np.where(x == 0, storage.type(3), x)  # divisors
        arrays.append(x)
    if row.name == "ak_div_row_f32":
        arrays[1] = np.repeat(arrays[1][:: count // 64][:64], -(-count // 64))[:count]
    return arrays


def kernel_of(row: PreludeFunction) -> str:
    """A kernel that applies the function to element k of each array."""
    result, types = signature(row)
    parameters = "".join(f"const {t}* p{i}, " for i, t in enumerate(types))
    values = ", ".join(f"p{i}[k]" for i in range(len(types)))
    return (
        f"{prelude_text([row.name])}\n"
        f'extern "C" __global__ void apply({parameters}{result}* out, long long n) {{\n'
        f"  long long k = blockIdx.x * 256ll + threadIdx.x;\n  if (k < n) out[k] = {row.name}({values});\n}}\n"
    )


def on_gpu(row: PreludeFunction, arrays: list[np.ndarray]) -> np.ndarray:
    """Run the function on the GPU over arrays of equal length."""
    count = arrays[0].size
    out_type = np.dtype(STORAGE[DTYPE_OF[signature(row)[0]]])
    buffers = [torch.from_numpy(a.view(np.uint8).copy()).cuda() for a in arrays]
    out = torch.zeros(count * out_type.itemsize, dtype=torch.uint8, device="cuda")
    gpu = driver()
    arch = gpu.info(0).target
    assert arch is not None
    built = compile_cuda(kernel_of(row), NvrtcOptions(arch))
    with gpu.on_device(0):
        function = gpu.function(gpu.load_module(built.cubin), "apply", 0)
        addresses = [b.data_ptr().to_bytes(8, "little") for b in (*buffers, out)]
        stream = torch.cuda.current_stream().cuda_stream
        gpu.launch(function, -(-count // 256), 256, 0, stream, (*addresses, count.to_bytes(8, "little")))
        gpu.synchronize(stream)
    return out.cpu().numpy().view(out_type)


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> HostPrelude:
    return HostPrelude.build(VALUE_ROWS, tmp_path_factory.mktemp("prelude"))


@pytest.mark.parametrize("row", VALUE_ROWS, ids=lambda row: row.name)
def test_function_gives_the_simulators_bits(host, row):
    if row.min_arch > 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]:
        pytest.skip(f"needs sm_{row.min_arch}")
    arrays = inputs_of(row)
    if row.name == "ak_div_row_f32":
        arrays[2] = host("ak_div_row_rcp", arrays[1])
    got, want = on_gpu(row, arrays), host(row.name, *arrays)
    if row.name in KEEPS_PAYLOADS:
        nans = np.isnan(want)
        assert (np.isnan(got) == nans).all()
        got, want = got[~nans], want[~nans]
    assert same_bits(got, want)
