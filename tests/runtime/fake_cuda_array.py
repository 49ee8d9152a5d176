"""Host memory that says through DLPack that it lies on a GPU: what the fake driver calls device memory."""

import ctypes
from typing import Any

import numpy as np

from agentkern.runtime import dlpack

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class FakeCudaArray:
    """A float32 array on `cuda:index`; `streams` collects the streams that it was asked to be ready on."""

    def __init__(self, array: np.ndarray, index: int = 0) -> None:
        assert array.dtype == np.float32
        self.array, self.index = array, index
        self.streams: list[object] = []
        self._shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self._strides = (ctypes.c_int64 * array.ndim)(*(stride // 4 for stride in array.strides))
        self._managed = dlpack._Versioned(
            major=1,
            tensor=dlpack._Tensor(
                data=array.ctypes.data,
                device_code=2,
                device_index=index,
                rank=array.ndim,
                type_code=2,
                bits=32,
                lanes=1,
                shape=self._shape,
                strides=self._strides,
            ),
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.index

    def __dlpack__(self, *, stream: object = None, max_version: object = None) -> Any:
        self.streams.append(stream)
        return _new(ctypes.addressof(self._managed), b"dltensor_versioned", None)
