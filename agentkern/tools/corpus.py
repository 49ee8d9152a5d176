"""Verify the corpus against its references and meta.toml, and keep its records. Finding kernels: `corpus_search`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkern.tools.corpus_entry import Entry
from agentkern.tools.corpus_formulas import formula_value
from agentkern.tools.corpus_index import entries_of, find, index_of, lowered
from agentkern.tools.corpus_records import with_record
from agentkern.tools.counted import counted
from agentkern.tools.progress import Report, silent
from agentkern.tools.results import (
    CheckRecord,
    CorpusVerifyResult,
    VerifyResult,
)
from agentkern.tools.roofline import kernel_work
from agentkern.tools.verify import VerifyRequest, verify
from agentkern.tools.verify_model import signature_of
from agentkern.tools.verify_subject import Level


def corpus_verify(
    names: Sequence[str] = (),
    level: Level = "quick",
    report: Report = silent,
    corpus: Path | None = None,
    *,
    record: bool = False,
) -> CorpusVerifyResult:
    """Verify the named kernels, all by default: the text, the reference, and what meta.toml says of them.

    record: write the outcome into each meta.toml. Errors: UsageError for an unknown name.
    """
    index = index_of(corpus)
    named = [find(name, index) for name in names] or index
    chosen = [(indexed.entry, indexed.kernel) for indexed in named]
    results: dict[str, VerifyResult] = {}
    for number, (entry, kernel) in enumerate(chosen):
        start = number / len(chosen)

        def said(fraction: float | None, check: str, start: float = start, kernel: str = kernel) -> None:
            report(start + (fraction or 0.0) / len(chosen), f"{kernel}: {check}")

        results[kernel] = _verify_one(entry, kernel, level, said)
    held = [name for name, result in results.items() if result.status == "ok"]
    if record:
        for entry in {entry.name: entry for entry, _ in chosen}.values():
            _write_verification(entry, results, level)
    wrong = [name for name in results if name not in held]
    first = f"; `{wrong[0]}`: {results[wrong[0]].summary}" if wrong else "; nothing to do"
    statuses = {results[name].status for name in wrong}
    return CorpusVerifyResult(
        status="ok" if not wrong else "unavailable" if statuses == {"unavailable"} else "failed",
        summary=f"{len(held)} of {counted(len(results), 'kernel')} {'holds' if len(results) == 1 else 'hold'}{first}",
        kernels=results,
    )


def _verify_one(entry: Entry, kernel: str, level: Level, report: Report) -> VerifyResult:
    request = VerifyRequest(
        source=entry.source,
        path=entry.path,
        kernel=kernel,
        dims=dict(entry.dims),
        level=level,
        reference=entry.reference,
        criterion=entry.criterion.text(),
    )
    result = verify(request, report)
    problems = meta_problems(entry, kernel)
    if not problems:
        return result
    record = CheckRecord(name="shapes", status="failed", detail=f"meta.toml: {problems[0]}")
    checks = tuple(record if check.name == "shapes" else check for check in result.checks)
    summary = f"meta.toml is wrong: {problems[0]}; correct it"
    return result.model_copy(update={"status": "failed", "verdict": "wrong", "checks": checks, "summary": summary})


def meta_problems(entry: Entry, kernel: str) -> tuple[str, ...]:
    """Return what meta.toml says that the kernel contradicts: dtypes, sizes, bytes and flops."""
    tile = lowered(entry, kernel, {})
    signature = signature_of(tile)
    found: list[str] = []
    owners = {entry: listed.name for listed in signature.lists for entry in listed.entries}
    tensors = [tensor for tensor in signature.tensors if tensor.access != "scratch"]
    dtypes = {owners.get(p.name, p.name): p.dtype.name for p in (*tensors, *signature.scalars)}
    if entry.meta["dtypes"].get(kernel) != dtypes:
        found.append(f"dtypes of `{kernel}` are {dtypes}")
    names = {info.name for info in tile.sizes}
    static = {info.name for info in tile.sizes if info.static}
    if set(entry.dims) != static:
        found.append(f"dims must give {sorted(static)}")
    formulas = entry.meta["roofline"].get(kernel, {})
    for sizes in (s for listed in entry.shapes.values() for s in listed):
        if set(sizes) != names:
            found.append(f"shape {dict(sizes)} does not give {sorted(names)}")
            continue
        built = lowered(entry, kernel, {name: sizes[name] for name in static})
        work = kernel_work(built, sizes)
        assert work is not None
        counted = {"bytes": work.bytes_moved, "flops": int(work.flops)}
        for key, number in counted.items():
            if key not in formulas or formula_value(formulas[key], sizes) != number:
                found.append(f"{key} of `{kernel}` at {dict(sizes)} are {number}, not `{formulas.get(key)}`")
    return tuple(found)


def _write_verification(entry: Entry, results: Mapping[str, VerifyResult], level: Level) -> None:
    mine = {kernel: results[kernel] for kernel in entry.kernels if kernel in results}
    table: dict[str, object] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "device": "cpu",
        "level": level,
        "verdicts": {kernel: result.verdict for kernel, result in mine.items()},
        "checks": {
            kernel: ", ".join(c.name for c in result.checks if c.status == "passed") for kernel, result in mine.items()
        },
        "controls_rejected": {k: sum(c.rejected for c in result.controls) for k, result in mine.items()},
        **entry.facts,
    }
    _rewrite(entry, "verification", table)


def record_performance(report: Mapping[str, Any], corpus: Path | None = None) -> tuple[str, ...]:
    """Write a benchmark's report (evals/perf) into each meta.toml that it has rows of; return their names."""
    written: list[str] = []
    for entry in entries_of(corpus):
        rows = [row for row in report["rows"] if row["kernel"] in entry.kernels and row["schedule_number"] == 0]
        if not rows:
            continue
        table: dict[str, object] = {key: report[key] for key in ("gpu", "driver_cuda", "torch", "date", "commit")}
        table |= {
            "copy_gbytes_per_s": report["copy_gbytes_per_s"],
            "rows": [_timed(row) for row in rows],
            **entry.facts,
        }
        _rewrite(entry, "performance", table)
        written.append(entry.name)
    return tuple(written)


def _timed(row: Mapping[str, Any]) -> dict[str, object]:
    peers = {name.replace(".", "_"): peer["median_us"] for name, peer in row["peers"].items()}
    shape = "x".join(map(str, row["shape"]))
    mine = {"kernel": row["kernel"], "shape": shape, "us": row["median_us"], "of_copy": row["of_copy"]}
    return {**mine, "low_us": row["ci_us"][0], "high_us": row["ci_us"][1], "runs": row["runs"], **peers}


def _rewrite(entry: Entry, section: str, table: Mapping[str, object]) -> None:
    file = entry.folder / "meta.toml"
    file.write_text(with_record(file.read_text(encoding="utf-8"), section, table), encoding="utf-8")
