"""Calling conventions as plain values, for caches and packs of built kernels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentkern.compiler.abi import Argument, KernelAbi, Launch, ListParam, ScalarParam, TensorParam, Variant
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.parser import parse_attr
from agentkern.compiler.ir.printer import attr_text
from agentkern.compiler.ir.records import Layout, read_layout, record_row
from agentkern.dsl.dtypes import DTYPES


def abi_to_json(abi: KernelAbi) -> dict[str, object]:
    """Return a calling convention as plain values; extents as text, dtypes by name."""
    return {
        "name": abi.name,
        "params": [_param(param) for param in abi.params],
        "sizes": [asdict(size) for size in abi.sizes],
        "statics": abi.statics,
        "launches": [
            asdict(launch)
            | {"blocks": _extent(launch.blocks), "arguments": [_argument(argument) for argument in launch.arguments]}
            for launch in abi.launches
        ],
        "variant": asdict(abi.variant),
        "lists": [[listed.name, listed.first, _extent(listed.count), listed.access] for listed in abi.lists],
    }


def _param(param: TensorParam | ScalarParam) -> dict[str, object]:
    if isinstance(param, ScalarParam):
        return {"name": param.name, "dtype": param.dtype.name, "default": param.default}
    shape = [_extent(extent) for extent in param.shape]
    record = None if param.record is None else attr_text(record_row("", param.record)[1:])
    strides = None if param.strides is None else [_extent(stride) for stride in param.strides]
    layout = {"record": record, "strides": strides, "aligned": param.aligned, "granule": param.granule}
    return {"name": param.name, "dtype": param.dtype.name, "shape": shape, "access": param.access, **layout}


def _argument(argument: Argument) -> dict[str, object]:
    return {**asdict(argument), "dtype": argument.dtype.name}


def _extent(extent: int | Dim) -> int | str:
    return extent if isinstance(extent, int) else str(extent)


def _read_extent(data: int | str) -> int | Dim:
    return data if isinstance(data, int) else dims.parse(data)


def abi_from_json(data: Mapping[str, Any]) -> KernelAbi:
    """Read `abi_to_json` back. Errors: KeyError, ValueError, TypeError or IrSyntaxError for what is none."""
    variant = data["variant"]
    return KernelAbi(
        name=data["name"],
        params=tuple(_read_param(param) for param in data["params"]),
        sizes=tuple(SizeInfo(**size) for size in data["sizes"]),
        statics=tuple((name, value) for name, value in data["statics"]),
        launches=tuple(_read_launch(launch) for launch in data["launches"]),
        variant=Variant(tuple(variant["strided"]), variant["alignment"], tuple(map(tuple, variant["shared"]))),
        lists=tuple(
            ListParam(name, first, _read_extent(count), access) for name, first, count, access in data["lists"]
        ),
    )


def _read_param(data: dict[str, Any]) -> TensorParam | ScalarParam:
    dtype = DTYPES[data["dtype"]]
    if "shape" not in data:
        return ScalarParam(data["name"], dtype, data["default"])
    shape = tuple(_read_extent(extent) for extent in data["shape"])
    record = _read_record_layout(data["record"])
    strides = None if data["strides"] is None else tuple(_read_extent(stride) for stride in data["strides"])
    layout = (record, strides, data["aligned"], data["granule"])
    return TensorParam(data["name"], dtype, shape, data["access"], *layout)


def _read_record_layout(text: str | None) -> Layout | None:
    if text is None:
        return None
    row = parse_attr(text)
    assert isinstance(row, tuple)
    return read_layout(row)


def _read_launch(data: dict[str, Any]) -> Launch:
    arguments = tuple(
        Argument(
            **dict(
                argument,
                dtype=DTYPES[argument["dtype"]],
                box=tuple(argument["box"]),
                entries=tuple(argument["entries"]),
            )
        )
        for argument in data["arguments"]
    )
    read: dict[str, Any] = {"blocks": _read_extent(data["blocks"]), "arguments": arguments}
    return Launch(**(data | read))
