"""Sorting by all threads of a block: bitonic networks, in shared memory and in global memory through it.

With two arrays the second one decides between equals of the first. Every merge first compares what lies mirrored in a
run, so that all comparisons point one way, and places past the end count as larger than all: rows have any length. A
thread takes two, four or eight elements through one, two or three steps before the threads meet.
Source: K. E. Batcher, "Sorting networks and their applications", 1968.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_SOURCE = "Batcher 1968: bitonic sorting"
_LARGEST = "0x7fffffffffffffffll"
_SHARED = ("ak_lds_u64", "ak_sts_u64")
_GLOBAL = ("ak_ld_u64", "ak_st_u64")
MOST_STEPS = 3
"""Steps of one merge between two meetings: eight elements in registers."""


def _arrays(names: tuple[str, ...]) -> str:
    return ", ".join(f"long long* {p}" for p in names)


def _steps(names: tuple[str, ...], index: str, accessors: tuple[str, str], place: str) -> str:
    """`steps` steps on elements `stride` apart; `index` is the type of their numbers, `place` how one is addressed.

    Of mirrored runs a thread holds the upper half backwards, so that what meets first stands at one distance.
    """
    load, store = accessors
    addresses = {p: place.format(p) for p in names}
    declared = "\n  ".join(f"long long {p}v[1 << {MOST_STEPS}];" for p in names)
    loads = "\n    ".join(f"{p}v[e] = at[e] < count ? (long long){load}({addresses[p]}) : {_LARGEST};" for p in names)
    stores = "\n    ".join(f"{store}({addresses[p]}, (unsigned long long){p}v[e]);" for p in names)
    first = names[0]
    above = f"{first}v[e] > {first}v[e + apart]"
    if len(names) > 1:
        second = names[1]
        equal = f"{first}v[e] == {first}v[e + apart]"
        above = f"{above} || ({equal} && {second}v[e] > {second}v[e + apart])"
    exchanges = "\n        ".join(
        f"const long long {p}e = {p}v[e]; {p}v[e] = {p}v[e + apart]; {p}v[e + apart] = {p}e;" for p in names
    )
    return f"""
const int many = 1 << steps;
for ({index} group = thread;; group += threads) {{
  const {index} within = group & (stride - 1), first = (group - within) << steps;
  if (first + within >= count) break;
  {index} at[1 << {MOST_STEPS}];
  {declared}
  #pragma unroll
  for (int e = 0; e < many; ++e) {{
    const bool turned = mirrored && e >= many / 2;
    at[e] = first + (turned ? (many + many / 2 - e) * stride - 1 - within : e * stride + within);
    {loads}
  }}
  #pragma unroll
  for (int apart = many / 2; apart > 0; apart /= 2) {{
    #pragma unroll
    for (int e = 0; e < many; ++e) {{
      if (e & apart) continue;
      const bool turned = mirrored && apart < many / 2 && e >= many / 2;
      if (({above}) != turned) {{
        {exchanges}
      }}
    }}
  }}
  #pragma unroll
  for (int e = 0; e < many; ++e) {{
    if (at[e] >= count) continue;
    {stores}
  }}
}}
__syncthreads();
"""


def _merge(function: str, arguments: str, left: str, unit: str) -> str:
    """All steps of one merge, of runs of `unit << left` elements, the longest first."""
    calls = "\n  ".join(
        f"{'else ' if steps > 1 else ''}if (steps == {steps}) "
        f"{function}({arguments}, stride, {steps}, mirrored, thread, threads);"
        for steps in range(1, MOST_STEPS + 1)
    )
    return f"""
for (int left = {left}, steps; left > 0; left -= steps) {{
  steps = (left - 1) % {MOST_STEPS} + 1;
  const {unit} << (left - steps);
  {calls}
  mirrored = false;
}}""".strip("\n")


def _indented(text: str, depth: int) -> str:
    return text.replace("\n", "\n" + "  " * depth)


def _filled(names: tuple[str, ...]) -> str:
    stores = "\n  ".join(f"ak_sts_u64({p} + slot, (unsigned long long){_LARGEST});" for p in names)
    return f"""
for (int slot = thread; slot < count; slot += threads) {{
  {stores}
}}
__syncthreads();
"""


def _slots(names: tuple[str, ...]) -> str:
    """Runs of `width` slots from runs of one."""
    merge = _merge(f"ak_merge_slots_{len(names)}", f"{', '.join(names)}, count", "level", "int stride = 1")
    return f"""
for (int level = 1; (1 << level) <= width; ++level) {{
  bool mirrored = true;
  {_indented(merge, 1)}
}}
"""


def _memory(names: tuple[str, ...]) -> str:
    """Runs of `slots` are sorted in shared memory; so are the short steps of the merges of longer ones."""
    number = len(names)
    shared = [f"s{p}" for p in names]
    loads = "\n      ".join(f"ak_sts_u64(s{p} + at, ak_ld_u64({p} + (start + at) * step));" for p in names)
    stores = "\n      ".join(f"ak_st_u64({p} + (start + at) * step, ak_lds_u64(s{p} + at));" for p in names)
    far = _merge(f"ak_merge_memory_{number}", f"{', '.join(names)}, count, step", "level", "long long stride = slots")
    near = _merge(f"ak_merge_slots_{number}", f"{', '.join(shared)}, width", "31 - __clz((int)slots)", "int stride = 1")
    return f"""
for (int level = 0; level == 0 || (slots << (level - 1)) < count; ++level) {{
  bool mirrored = true;
  {_indented(far, 1)}
  for (long long start = 0; start < count; start += slots) {{
    const int width = count - start < slots ? (int)(count - start) : (int)slots;
    for (int at = thread; at < width; at += threads) {{
      {loads}
    }}
    __syncthreads();
    if (level == 0) {{
      int run = 1;
      while (run < width) run <<= 1;
      ak_sort_slots_{number}({", ".join(shared)}, run, width, thread, threads);
    }} else {{
      {_indented(near, 3)}
    }}
    for (int at = thread; at < width; at += threads) {{
      {stores}
    }}
  }}
  __syncthreads();
}}
"""


def _row(name: str, parameters: str, body: str, note: str, requires: tuple[str, ...]) -> PreludeFunction:
    declaration = f"void ak_{name}({parameters}, int thread, int threads)"
    return PreludeFunction(declaration, "block", body, f"{note}; all threads of the block call it", _SOURCE, requires)


def _rows(names: tuple[str, ...]) -> tuple[PreludeFunction, ...]:
    number, arrays = len(names), _arrays(names)
    both = _arrays((*names, *(f"s{p}" for p in names)))
    step = "int steps, bool mirrored"
    return (
        _row(f"fill_slots_{number}", f"{arrays}, int width, int count", _filled(names), "fill slots", _SHARED[1:]),
        _row(
            f"merge_slots_{number}",
            f"{arrays}, int count, int stride, {step}",
            _steps(names, "int", _SHARED, "{} + at[e]"),
            "some steps of a merge in shared memory",
            _SHARED,
        ),
        _row(
            f"sort_slots_{number}",
            f"{arrays}, int width, int count",
            _slots(names),
            "sort runs of slots",
            (f"ak_merge_slots_{number}",),
        ),
        _row(
            f"merge_memory_{number}",
            f"{arrays}, long long count, long long step, long long stride, {step}",
            _steps(names, "long long", _GLOBAL, "{} + at[e] * step"),
            "some steps of a merge in global memory",
            _GLOBAL,
        ),
        _row(
            f"sort_memory_{number}",
            f"{both}, long long count, long long step, long long slots",
            _memory(names),
            "sort `count` elements `step` apart through shared memory",
            (*_GLOBAL, *_SHARED, f"ak_merge_slots_{number}", f"ak_sort_slots_{number}", f"ak_merge_memory_{number}"),
        ),
    )


SORTING: tuple[PreludeFunction, ...] = tuple(row for names in (("p",), ("p", "q")) for row in _rows(names))
