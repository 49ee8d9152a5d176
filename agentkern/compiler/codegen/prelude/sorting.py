"""Sorting in shared memory by all threads of a block: a bitonic network on runs of `width` slots, a power of two.

With two arrays the second one decides between equals of the first. Runs begin at multiples of `width` up to `count`.
Source: K. E. Batcher, "Sorting networks and their applications", 1968.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_NOTE = "sort runs of slots upward; all threads of the block call it, and meet behind every step"
_SOURCE = "Batcher 1968: bitonic sorting"
_ACCESSORS = ("ak_lds_u64", "ak_sts_u64")


def _network(names: tuple[str, ...]) -> str:
    """The loops of the network; `names` are the arrays, the first one deciding first."""
    loads = "\n      ".join(
        f"long long {p}0 = (long long)ak_lds_u64({p} + first), {p}1 = (long long)ak_lds_u64({p} + first + stride);"
        for p in names
    )
    above = f"{names[0]}0 > {names[0]}1"
    if len(names) > 1:
        above += f" || ({names[0]}0 == {names[0]}1 && {names[1]}0 > {names[1]}1)"
    stores = "\n        ".join(
        f"ak_sts_u64({p} + first, (unsigned long long){p}1);\n"
        f"        ak_sts_u64({p} + first + stride, (unsigned long long){p}0);"
        for p in names
    )
    return f"""
for (int run = 2; run <= width; run <<= 1) {{
  for (int stride = run >> 1; stride > 0; stride >>= 1) {{
    for (int pair = thread; pair < count / 2; pair += threads) {{
      int first = 2 * pair - (pair & (stride - 1));
      {loads}
      if (({above}) == ((first & (width - 1) & run) == 0)) {{
        {stores}
      }}
    }}
    __syncthreads();
  }}
}}
"""


def _filled(names: tuple[str, ...]) -> str:
    stores = "\n  ".join(f"ak_sts_u64({p} + slot, 0x7fffffffffffffffull);" for p in names)
    return f"""
for (int slot = thread; slot < count; slot += threads) {{
  {stores}
}}
__syncthreads();
"""


def _row(name: str, names: tuple[str, ...], body: str, note: str) -> PreludeFunction:
    arrays = ", ".join(f"long long* {p}" for p in names)
    declaration = f"void ak_{name}_{len(names)}({arrays}, int width, int count, int thread, int threads)"
    used = tuple(name for name in _ACCESSORS if name in body)
    return PreludeFunction(declaration, "block", body, note, _SOURCE, used)


SORTING: tuple[PreludeFunction, ...] = tuple(
    row
    for names in (("p",), ("p", "q"))
    for row in (
        _row("fill_slots", names, _filled(names), "the largest integer in every slot; all threads call it, and meet"),
        _row("sort_slots", names, _network(names), _NOTE),
    )
)
