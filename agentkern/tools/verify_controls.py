"""Negative controls: answers that are wrong in the ways kernels are wrong, which the checks must reject.

A control takes the right answer and makes a wrong one. Two of them (swapped inputs, an off-by-one mask) ask the oracle
for the answer to other inputs. A control that gives the right answer for this kernel (addition with its inputs swapped)
is no control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.tools.verify_buffers import initial
from agentkern.tools.verify_model import Arrays, Call, Signature

Oracle = Callable[[Call], Arrays]
ControlFunction = Callable[[Signature, Call, Oracle, int], Arrays]


def _filled(signature: Signature, call: Call, oracle: Oracle, value: int) -> Arrays:
    one = {p.name: cast("i32", p.dtype.name, np.asarray(value, np.int32)) for p in signature.outputs}
    return {name: np.broadcast_to(one[name], raw.shape).copy() for name, raw in oracle(call).items()}


def _zeros(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    return _filled(signature, call, oracle, 0)


def _ones(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    return _filled(signature, call, oracle, 1)


def _copy_of_an_input(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    if not signature.inputs:
        return oracle(call)
    source = signature.inputs[0]
    outputs: dict[str, Raw] = {}
    for param in signature.outputs:
        shape = oracle(call)[param.name].shape
        same = cast(source.dtype.name, param.dtype.name, call.tensors[source.name])
        outputs[param.name] = np.resize(same, shape).astype(STORAGE[param.dtype.name], copy=False)
    return outputs


def _stale(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    return {p.name: initial(p, call, which) for p in signature.outputs}


def _dropped_tail(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    """Leave the last element of each output unwritten."""
    outputs = {name: raw.copy() for name, raw in oracle(call).items()}
    for param in signature.outputs:
        if outputs[param.name].size:
            outputs[param.name].reshape(-1)[-1] = initial(param, call, which).reshape(-1)[-1]
    return outputs


def _off_by_one_mask(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    """Take the last index of each input's last axis for one that does not exist and reads as 0."""
    tensors = {name: raw.copy() for name, raw in call.tensors.items()}
    for name, raw in tensors.items():
        if raw.ndim and name not in signature.promises:
            raw[..., -1:] = 0
    return oracle(replace(call, tensors=tensors))


def _swapped_inputs(signature: Signature, call: Call, oracle: Oracle, which: int) -> Arrays:
    """Exchange the first two inputs of one dtype and shape; the right answer where there are none."""
    params = signature.inputs
    for k, first in enumerate(params):
        for second in params[k + 1 :]:
            same_promise = signature.promises.get(first.name) == signature.promises.get(second.name)
            if (first.dtype, first.shape) == (second.dtype, second.shape) and same_promise:
                tensors = dict(call.tensors)
                tensors[first.name], tensors[second.name] = tensors[second.name], tensors[first.name]
                return oracle(replace(call, tensors=tensors))
    return oracle(call)


CONTROLS: Mapping[str, ControlFunction] = {
    "zeros": _zeros,
    "ones": _ones,
    "copy of an input": _copy_of_an_input,
    "stale output": _stale,
    "dropped tail": _dropped_tail,
    "off-by-one mask": _off_by_one_mask,
    "swapped inputs": _swapped_inputs,
}
