"""Write the summary table of a results folder: python summarise.py RESULTS_FOLDER > summary.md."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Row = dict[str, object]


def rows(folder: Path, probe: str) -> list[Row]:
    """Return one probe's records."""
    path = folder / f"{probe}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def best(records: list[Row], **fixed: object) -> Row | None:
    """Return the record with the largest share of the copy's speed among those that match."""
    matching = [r for r in records if "of_copy" in r and all(r.get(k) == v for k, v in fixed.items())]
    return max(matching, key=lambda r: r["of_copy"], default=None)


def shape_of(record: Row) -> str:
    """Return "rows x columns"."""
    return f"{record['rows']}x{record['cols']}"


def timing(record: Row | None, note: Callable[[Row], str]) -> str:
    """Return "us (p10-p90), GB/s, of copy, note"."""
    if record is None:
        return "-"
    return (
        f"{record['us']:.1f} ({record['p10']:.1f}-{record['p90']:.1f}) | {record['gbs']}"
        f" | {record['of_copy']:.3f} | {note(record)}"
    )


def access_lines(folder: Path) -> Iterator[str]:
    """Yield the element-wise table."""
    records = rows(folder, "memory_access")
    yield "## Element-wise bf16: best form by grid and vectors a thread"
    yield "| shape | grid, vectors | us (p10-p90) | GB/s | of copy | form |"
    yield "|---|---|---|---|---|---|"
    shapes = list(dict.fromkeys((r["rows"], r["cols"]) for r in records))
    for n_rows, n_cols in shapes:
        for grid in ("full", "persistent"):
            for vectors in (1, 2, 4, 8):
                key = {"rows": n_rows, "cols": n_cols, "grid": grid, "vectors": vectors}
                text = timing(best(records, **key), lambda r: f"{r['load']}, {r['store']}, {r['threads']}")
                yield f"| {n_rows}x{n_cols} | {grid}, {vectors} | {text} |"


def cast_lines(folder: Path) -> Iterator[str]:
    """Yield the grouped cast's table."""
    records = rows(folder, "grouped_cast")
    yield "## bf16 -> e4m3, groups of 128: best by division and shape of block"
    yield "| shape | division, block | us (p10-p90) | GB/s | of copy | form |"
    yield "|---|---|---|---|---|---|"
    kinds = list(dict.fromkeys((r["rows"], r["divide"], r["shape"]) for r in records if "divide" in r))
    for n_rows, divide, shape in kinds:
        record = best(records, rows=n_rows, divide=divide, shape=shape)
        text = timing(
            record,
            lambda r: (
                f"{r['bytes_a_thread']} B a thread, {r['threads']} threads, {r['passes']} passes,"
                f" scales by {r['scales']}, {r['differ_from_reference']} differ from IEEE"
            ),
        )
        yield f"| {n_rows}x7168 | {divide}, {shape} | {text} |"


def order_lines(folder: Path) -> Iterator[str]:
    """Yield the tables of reduction orders."""
    yield "## Last axis: fixed order against free order"
    yield "| kernel, shape | order, warps a row | us (p10-p90) | GB/s | of copy | rows a block |"
    yield "|---|---|---|---|---|---|"
    records = rows(folder, "row_order")
    for kernel in ("rms_norm", "row_sum"):
        for n_rows in (8192, 8001):
            for order in ("fixed", "free"):
                for warps in (1, 2, 4):
                    key = {"kernel": kernel, "rows": n_rows, "order": order, "warps_a_row": warps}
                    text = timing(best(records, **key), lambda r: str(r["rows_a_block"]))
                    yield f"| {kernel} {n_rows}x7168 | {order}, {warps} | {text} |"
    yield "## First axis: fixed order against atomics, by rows a panel"
    yield "| shape | kind, panel | us (p10-p90) | GB/s | of copy | form |"
    yield "|---|---|---|---|---|---|"
    records = rows(folder, "column_order")
    kinds = list(dict.fromkeys((r["rows"], r["cols"], r["kind"], r["panel"]) for r in records if "panel" in r))
    for n_rows, n_cols, kind, panel in sorted(kinds, key=lambda k: (-k[0] * k[1], k[2], k[3])):
        record = best(records, rows=n_rows, cols=n_cols, kind=kind, panel=panel)
        text = timing(
            record,
            lambda r: (
                f"strip {r['strip']}, {r['partials_a_thread']} partials a thread, {r['panels_a_block']} panels a block"
            ),
        )
        yield f"| {n_rows}x{n_cols} | {kind}, {panel} | {text} |"
    yield "## 128-wide accumulator rows: SM cycles a fragment and warp"
    yield "| order | warps a scheduler | cycles |"
    yield "|---|---|---|"
    for r in rows(folder, "fragment_order"):
        yield f"| {r['order']} | {r['warps_a_scheduler']} | {r['cycles_a_fragment_and_warp']} |"


def product_lines(folder: Path) -> Iterator[str]:
    """Yield agreement counts of products by operand format."""
    yield "## One instruction step against the host model"
    yield (
        "| operands | outputs a unit | mma.sync = model | wgmma = model | wgmma (a in registers)"
        " = model | all equal | results that are -0 |"
    )
    yield "|---|---|---|---|---|---|---|"
    totals: dict[str, list[int]] = {}
    fields = (
        "outputs", "mma_equals_model", "wgmma_equals_model", "wgmma_registers_equals_model",
        "all_units_equal", "negative_zero_results",
    )  # fmt: skip
    for r in rows(folder, "products"):
        if "outputs" in r:
            line = totals.setdefault(str(r["operands"]), [0] * len(fields))
            for i, field in enumerate(fields):
                line[i] += int(str(r[field]))
    for operands, line in totals.items():
        zero = "-" if operands.startswith("s8") else str(line[-1])
        yield f"| {operands} | {' | '.join(map(str, line[:-1]))} | {zero} |"


def scan_lines(folder: Path) -> Iterator[str]:
    """Yield the exhaustive scans."""
    yield "## Edges: instructions against integer models"
    yield "| instruction | inputs | differ | digest |"
    yield "|---|---|---|---|"
    for r in rows(folder, "edges"):
        yield f"| {r['what']} | {r['inputs']} | {r['wrong']} | {r.get('digest', '-')} |"
    yield "## Approximate functions over 2^32 inputs"
    yield "| function | digest | ulps from correctly rounded (of normal results) | model's digests equal |"
    yield "|---|---|---|---|"
    model = {r["function"]: f"{r['digests_equal']} of {r['digests']}" for r in rows(folder, "approximation_model")}
    for r in rows(folder, "approximations"):
        if "ulps" in r:
            spread = ", ".join(f"{k}: {v}" for k, v in r["ulps"].items())
            if r["farther"]:
                spread += f", farther: {r['farther']} (to {r['worst_ulp']})"
            yield f"| {r['function']} | {r['digest']} | {spread} | {model.get(r['function'], '-')} |"


def main(folder: Path) -> None:
    """Write every table to standard output."""
    out = sys.stdout.write
    for r in rows(folder, "device"):
        out(f"# Results\n{r['gpu']}, CUDA {r['nvcc']}, {r['date']}. Made by summarise.py.\n\n")
    for part in (access_lines, cast_lines, order_lines, product_lines, scan_lines):
        for line in part(folder):
            out(("\n" if line.startswith("## ") else "") + line + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
