"""Compile results as cache entries: plain parts that need neither pickle nor trust.

The TILE kernel is kept as its text, which reads back. `legal` is not kept. Only results without diagnostics are stored,
so that an answer never loses a warning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.parser import IrSyntaxError, parse_kernel
from agentkern.compiler.proofs import ProofReport
from agentkern.compiler.proofs.records import ProofRecord
from agentkern.compiler.schedule import ScheduleError, schedule_from_json
from agentkern.runtime.abi_json import abi_from_json, abi_to_json

_TEXT = "text "


def can_store(result: CompileResult) -> bool:
    """Whether everything in a result survives storing."""
    is_whole = result.status == "ok" and result.abi is not None and result.schedule is not None
    return is_whole and not result.diagnostics and all(r.counterexample is None for r in result.proofs.records)


def encode_program(result: CompileResult) -> dict[str, bytes]:
    """Return the parts of a result that `can_store` allows."""
    assert result.abi is not None and result.schedule is not None
    meta = {
        "abi": abi_to_json(result.abi),
        "schedule": result.schedule.to_json(),
        "lines": list(result.lines.items()),
        "proofs": [asdict(record) for record in result.proofs.records],
        "kernel_id": result.kernel_id,
        "registers": result.registers,
    }
    texts = {f"{_TEXT}{name}": text.encode() for name, text in result.texts.items()}
    return {"meta": json.dumps(meta).encode(), **texts}


def decode_program(parts: Mapping[str, bytes]) -> CompileResult | None:
    """Return the stored result; None for an entry that does not read back."""
    try:
        return _decoded(parts)
    except (KeyError, ValueError, TypeError, IrSyntaxError, ScheduleError):
        return None


def _decoded(parts: Mapping[str, bytes]) -> CompileResult:
    meta: dict[str, Any] = json.loads(parts["meta"])
    texts = {name.removeprefix(_TEXT): data.decode() for name, data in parts.items() if name.startswith(_TEXT)}
    return CompileResult(
        status="ok",
        diagnostics=(),
        kernel=parse_kernel(texts["ir"]),
        texts=texts,
        lines=dict(meta["lines"]),
        abi=abi_from_json(meta["abi"]),
        schedule=schedule_from_json(meta["schedule"]),
        proofs=ProofReport(tuple(_read_record(record) for record in meta["proofs"])),
        kernel_id=meta["kernel_id"],
        registers=meta["registers"],
    )


def _read_record(data: dict[str, Any]) -> ProofRecord:
    location = data["location"]
    tuples: dict[str, Any] = {
        "location": tuple(location) if location is not None else None,
        "assumptions": tuple(data["assumptions"]),
    }
    return ProofRecord(**(data | tuples))
