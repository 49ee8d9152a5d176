"""Where arguments lie before a launch: a tensor map as aligned as its C++ type says, which aligned moves rely on."""

import ctypes

import numpy as np

from agentkern.runtime.simulator import Buffer, TensorMapArgument
from agentkern.runtime.simulator.module import _pack_arguments  # a fault of some compilers' code alone shows otherwise


def test_tensor_maps_begin_at_multiples_of_64_bytes():
    map_argument = TensorMapArgument(Buffer("x", np.zeros(16, np.uint16)), lambda address: bytes(128))
    packed = _pack_arguments("k", [128] * 9, [map_argument] * 9, [0] * 9)
    assert [ctypes.addressof(words) % 64 for words in packed] == [0] * 9
    assert all(bytes(words) == bytes(128) for words in packed)
