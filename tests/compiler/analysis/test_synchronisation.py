"""The synchronisation checker accepts what the compiler makes and what experts write, and sees each kind of fault."""

import re
import time

import pytest

from agentkern.compiler.analysis.synchronisation import SyncFinding, check_synchronisation
from agentkern.compiler.driver import CompileRequest, compile_kernel, schedules
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.tools.corpus_entry import default_corpus, read_entries
from tests.compiler.agreement import HEADER, compiled
from tests.compiler.test_agreement import KERNELS
from tests.gpu_stage.faults import ATTENTION, PRODUCT, kernel_text

ROWS = ("softmaxish", "rowsum_dyn", "norm_dyn", "colsum", "colsum_static", "outer", "reshape_group", "transpose",
        "block2d", "ints", "total", "multi_axis_sum", "square", "casts", "slice")  # fmt: skip

# Two warps: the first stores a number for each thread, then all meet, then each reads the neighbour's.
EXCHANGE = """\
agentkern.ir 1
kernel gpu @k(%o: out<f32, [64]>) {source_name = "k.py"} {
  function() {name = "k", blocks = 1, threads = 64, min_blocks = 1, shared_bytes = 256} {
    %s = shared() {offset = 0, count = 64} : ptr<f32, shared, written>
    %thread = thread() : i32
    %r = registers() {fill = 0.0} : reg<f32, 1>
    %0 = constant() {value = 0} : i32
    %32 = constant() {value = 32} : i32
    store_vector(%s, %thread, %r, %0) {count = 1}
    barrier()
    %1 = xor(%thread, %32) : i32
    load_vector(%s, %1, %r, %0) {count = 1}
  }
}
"""

# Each thread stores a number, all sort them, each reads the neighbour's; then memory is sorted through the same array.
SORTED = """\
agentkern.ir 1
kernel gpu @k(%m: scratch<i64, [N]>) {source_name = "k.py"} {
  size N {static = false, multiple_of = 1, minimum = 0, maximum = none}
  function() {name = "k", blocks = 1, threads = 64, min_blocks = 1, shared_bytes = 512} {
    %n = size_argument() {argument = "N"} : i64
    %s = shared() {offset = 0, count = 64} : ptr<i64, shared, written>
    %thread = thread() : i32
    %r = registers() {fill = 0} : reg<i64, 1>
    %0 = constant() {value = 0} : i32
    %32 = constant() {value = 32} : i32
    %one = constant() {value = 1} : i64
    fill_slots(%s, %thread) {width = 64, count = 64, threads = 64}
    store_vector(%s, %thread, %r, %0) {count = 1}
    barrier()
    sort_slots(%s, %thread) {width = 64, count = 64, threads = 64}
    %1 = xor(%thread, %32) : i32
    load_vector(%s, %1, %r, %0) {count = 1}
    barrier()
    %first = constant() {value = 0} : i64
    %row = advance(%m, %first) : ptr<i64, global, written>
    sort_memory(%row, %s, %n, %one, %thread) {slots = 64, threads = 64}
  }
}
"""
SORT = "    sort_slots(%s, %thread) {width = 64, count = 64, threads = 64}\n"

# One warp copies 256 bytes in, all wait; the second warp waits for the phase, too.
COPY = """\
agentkern.ir 1
kernel gpu @k(%x: in<bf16, [T, 64]>) {source_name = "k.py"} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  function() {name = "k", blocks = 1, threads = 64, min_blocks = 1, shared_bytes = 1040} {
    %map = tensor_map(%x) : tmap<bf16, [8, 64], 128>
    %s = shared() {offset = 0, count = 512} : ptr<bf16, shared, written>
    %full = mbarriers() {offset = 1024} : mbar<1, 1>
    %thread = thread() : i32
    %0 = constant() {value = 0} : i32
    %r = registers() : reg<bf16, 8>
    %first = eq(%thread, %0) : bool
    if(%first) {
      mbarrier_init(%full)
      mbarrier_fence()
    }
    barrier()
    if(%first) {
      mbarrier_expect(%full, %0) {bytes = 1024}
      tma_load(%s, %0, %map, %full, %0, %0, %0)
    }
    mbarrier_wait(%full, %0, %0)
    %8 = constant() {value = 8} : i32
    %at = index_mul(%thread, %8) : i32
    load_vector(%s, %at, %r, %0) {count = 8}
  }
}
"""


# One warp writes 1024 bytes and stores them as a box.
STORE = """\
agentkern.ir 1
kernel gpu @k(%y: out<bf16, [T, 64]>) {source_name = "k.py"} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  function() {name = "k", blocks = 1, threads = 64, min_blocks = 1, shared_bytes = 1024} {
    %map = tensor_map(%y) : tmap<bf16, [8, 64], 128>
    %s = shared() {offset = 0, count = 512} : ptr<bf16, shared, written>
    %thread = thread() : i32
    %0 = constant() {value = 0} : i32
    %8 = constant() {value = 8} : i32
    %9 = constant() {value = 9} : i32
    %r = registers() {fill = 0.0} : reg<bf16, 8>
    %at = index_mul(%thread, %8) : i32
    store_vector(%s, %at, %r, %0) {count = 8}
    fence_async()
    barrier()
    %first = eq(%thread, %0) : bool
    if(%first) {
      tma_store(%map, %s, %0, %0, %0)
      %stored = bulk_commit() : token<copy>
      bulk_wait() {pending = 0, read = false}
    }
  }
}
"""


# Each thread copies 16 bytes asynchronously and reads its neighbour's once everything is there.
ELEMENT_COPY = """\
agentkern.ir 1
kernel gpu @k(%x: in<f32, [256]>) {source_name = "k.py"} {
  function() {name = "k", blocks = 1, threads = 64, min_blocks = 1, shared_bytes = 1024} {
    %s = shared() {offset = 0, count = 256} : ptr<f32, shared, written>
    %thread = thread() : i32
    %r = registers() : reg<f32, 4>
    %0 = constant() {value = 0} : i32
    %4 = constant() {value = 4} : i32
    %32 = constant() {value = 32} : i32
    %at = index_mul(%thread, %4) : i32
    copy_async(%s, %at, %x, %at) {bytes = 16}
    %copied = copy_commit() : token<copy>
    copy_wait() {pending = 0}
    barrier()
    %1 = xor(%thread, %32) : i32
    %2 = index_mul(%1, %4) : i32
    load_vector(%s, %2, %r, %0) {count = 4}
  }
}
"""


def findings(text: str) -> tuple[SyncFinding, ...]:
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    return check_synchronisation(kernel)


def rules(text: str) -> set[str]:
    return {finding.rule for finding in findings(text)}


@pytest.mark.parametrize("kernel", [PRODUCT, ATTENTION])
def test_kernels_with_roles_are_accepted_quickly(kernel: str):
    parsed = parse_kernel(kernel_text(kernel))
    start = time.process_time()
    assert check_synchronisation(parsed) == ()
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ROWS)
def test_kernels_of_rows_are_accepted(name: str):
    body, cases = KERNELS[name]
    statics, sizes = cases[-1]
    assert findings(compiled(body, statics, sizes).texts["gpu"]) == ()


def test_every_schedule_of_a_row_kernel_is_accepted():
    body, cases = KERNELS["softmaxish"]
    statics, sizes = cases[3]
    base = compiled(body, statics, sizes)
    assert base.kernel is not None and base.abi is not None
    for schedule in schedules(base.kernel, base.abi.variant, 6):
        request = CompileRequest(HEADER + body, "k.py", dims=statics, variant=base.abi.variant, schedule=schedule)
        assert findings(compile_kernel(request).texts["gpu"]) == (), schedule.text()


def test_the_corpus_is_accepted():
    for entry in read_entries(default_corpus()):
        path = entry.folder / "kernel.py"
        result = compile_kernel(CompileRequest(path.read_text(), str(path), dims=entry.dims))
        assert findings(result.texts["gpu"]) == (), entry.name


@pytest.mark.parametrize("name", ["rowsum_dyn", "colsum_static", "block2d", "total"])
def test_a_row_kernel_without_one_of_its_barriers_is_rejected(name: str):
    body, cases = KERNELS[name]
    lines = compiled(body, *cases[-1]).texts["gpu"].split("\n")
    barriers = [k for k, line in enumerate(lines) if re.match(r" *barrier\(\)", line)]
    assert barriers
    for k in barriers:
        found = findings("\n".join([*lines[:k], *lines[k + 1 :]]))
        assert {f.rule for f in found} <= {"read after write", "write after read", "write after write"} and found


def test_an_exchange_with_a_barrier_is_accepted():
    assert findings(EXCHANGE) == ()


def test_an_exchange_without_its_barrier_names_both_operations():
    found = findings(EXCHANGE.replace("    barrier()\n", ""))
    assert [f.rule for f in found] == ["read after write"]
    assert found[0].op.name == "load_vector" and found[0].other is not None
    assert found[0].other_text.startswith("store_vector(%s, %thread")


def test_a_thread_may_read_its_own_number_without_a_barrier():
    own = EXCHANGE.replace("    barrier()\n", "").replace("load_vector(%s, %1,", "load_vector(%s, %thread,")
    assert findings(own) == ()


def test_a_barrier_in_a_branch_of_some_threads_is_a_deadlock():
    some = EXCHANGE.replace(
        "    barrier()\n", "    %c = lt(%thread, %32) : bool\n    if(%c) {\n      barrier()\n    }\n"
    )
    assert "deadlock" in rules(some)


def test_a_barrier_in_half_a_warp_does_not_converge():
    some = EXCHANGE.replace("value = 32}", "value = 16}").replace(
        "    barrier()\n", "    %c = lt(%thread, %32) : bool\n    if(%c) {\n      barrier()\n    }\n"
    )
    assert "convergence" in rules(some)


def test_a_read_past_the_array_is_out_of_bounds():
    assert "bounds" in rules(EXCHANGE.replace("value = 32}", "value = 64}"))


def test_threads_that_write_the_same_place_are_a_race():
    assert "write after write" in rules(EXCHANGE.replace("store_vector(%s, %thread", "store_vector(%s, %0"))


def test_a_sort_between_barriers_is_accepted():
    assert findings(SORTED) == ()


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (f"    barrier()\n{SORT}", SORT, {"read after write", "write after write"}),
        ("    barrier()\n    %first", "    %first", {"write after read"}),
        (f"    barrier()\n{SORT}", "", {"read after write"}),
        ("    barrier()\n" + SORT, "    barrier()\n" + SORT.replace("%s,", "%s.1,"), {"uninitialised"}),
        (SORT, f"    %c = lt(%thread, %32) : bool\n    if(%c) {{\n{SORT}    }}\n", {"deadlock"}),
    ],
)
def test_a_sort_that_threads_do_not_meet_around_is_rejected(old: str, new: str, wanted: set[str]):
    text = SORTED.replace(old, new).replace("shared_bytes = 512", "shared_bytes = 1024")
    more = "    %s.1 = shared() {offset = 512, count = 64} : ptr<i64, shared, written>\n"
    text = text.replace("    %thread = thread", f"{more}    %thread = thread")
    assert wanted <= rules(text)


def test_a_copy_that_is_waited_for_is_accepted():
    assert findings(COPY) == ()


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("    mbarrier_wait(%full, %0, %0)\n", "", "read after write"),
        ("      mbarrier_fence()\n", "", "initialisation"),
        ("    barrier()\n", "", "initialisation"),
        ("      mbarrier_init(%full)\n", "", "initialisation"),
        ("bytes = 1024", "bytes = 512", "bytes"),
        ("bytes = 1024", "bytes = 2048", "deadlock"),
        ("      mbarrier_expect(%full, %0) {bytes = 1024}\n", "", "deadlock"),
        ("mbar<1, 1>", "mbar<1, 2>", "deadlock"),
        ("tma_load(%s, %0,", "tma_load(%s, %8,", "alignment"),
        ("count = 512", "count = 256", "bounds"),
        ("offset = 1024", "offset = 1016", "bounds"),
        ("mbarrier_wait(%full, %0, %0)", "mbarrier_wait(%full, %8, %0)", "barrier index"),
        ("eq(%thread, %0)", "ge(%thread, %0)", "initialisation"),
    ],
)
def test_a_faulty_copy_is_rejected(old: str, new: str, rule: str):
    text = COPY.replace("    %0 = constant", "    %8 = constant() {value = 8} : i32\n    %0 = constant", 1)
    text = text.replace("    %8 = constant() {value = 8} : i32\n    %at", "    %at")
    assert findings(text) == ()
    assert old in text
    assert rule in rules(text.replace(old, new))


def test_a_copy_that_nobody_waits_for_is_rejected_at_the_end():
    text = COPY.replace("    mbarrier_wait(%full, %0, %0)\n", "")
    text = text.replace("    load_vector(%s, %at, %r, %0) {count = 8}\n", "")
    assert rules(text) == {"end"}


def test_a_store_that_is_waited_for_is_accepted():
    assert findings(STORE) == ()


def at(text: str, row: int, column: int) -> str:
    """The text with other coordinates, the last operands of its copy."""
    first = re.search(r"( +)tma_\w+\(.*", text)
    assert first is not None
    moved = first[0].replace("%0, %0)", "%row, %column)")
    numbers = "".join(
        f"{first[1]}%{name} = constant() {{value = {value}}} : i32\n"
        for name, value in (("row", row), ("column", column))
    )
    return text.replace(first[0], numbers + moved)


@pytest.mark.parametrize("place", [(0, 8), (0, -8), (-2, 0), (-2, -64), (40, 0), (0, 400)])
def test_a_load_may_begin_outside_the_tensor(place: tuple[int, int]):
    assert findings(at(COPY, *place)) == ()


@pytest.mark.parametrize("place", [(40, 0), (0, 8), (25, 64)])
def test_a_store_may_reach_past_the_extents(place: tuple[int, int]):
    assert findings(at(STORE, *place)) == ()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (COPY, (0, 4), "a box begins at byte 8 of its row"),
        (COPY, (0, -7), "a box begins at byte -14 of its row"),
        (STORE, (0, 1), "a box begins at byte 2 of its row"),
        (STORE, (-2, 0), "a store begins at -2 along axis 0"),
        (STORE, (0, -8), "a store begins at -8 along axis 1"),
    ],
)
def test_a_box_that_the_copy_engine_refuses_is_found(text: str, place: tuple[int, int], words: str):
    (found,) = findings(at(text, *place))
    assert found.rule == "coordinates"
    assert words in found.message
    assert found.op.name.startswith("tma_")


def test_a_coordinate_of_threads_that_copy_nothing_does_not_matter():
    text = STORE.replace("tma_store(%map, %s, %0, %0, %0)", "tma_store(%map, %s, %0, %0, %thread)")
    assert findings(text) == ()
    assert rules(text.replace("eq(%thread, %0)", "eq(%thread, %8)")) == set()
    assert rules(text.replace("eq(%thread, %0)", "eq(%thread, %9)")) == {"coordinates"}


def test_an_element_copy_that_is_waited_for_is_accepted():
    assert findings(ELEMENT_COPY) == ()


def test_a_thread_may_read_its_own_element_copy_after_the_wait():
    own = ELEMENT_COPY.replace("    barrier()\n", "").replace("load_vector(%s, %2,", "load_vector(%s, %at,")
    assert findings(own) == ()


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("    copy_wait() {pending = 0}\n", "", {"read after write", "end"}),
        ("pending = 0", "pending = 1", {"read after write", "end"}),
        ("    barrier()\n", "", {"read after write"}),
        (
            "    copy_wait() {pending = 0}\n    barrier()\n",
            "    barrier()\n    copy_wait() {pending = 0}\n",
            {"read after write"},
        ),
        ("    %copied = copy_commit() : token<copy>\n", "", {"read after write", "end"}),
    ],
)
def test_a_faulty_element_copy_is_rejected(old: str, new: str, wanted: set[str]):
    assert old in ELEMENT_COPY
    assert rules(ELEMENT_COPY.replace(old, new)) == wanted


def test_a_finding_gives_the_sizes_that_show_it():
    (first, *_) = findings(COPY.replace("bytes = 1024", "bytes = 2048"))
    assert dict(first.sizes) == {"T": 1, "block": 0}
    assert "of 2048 bytes" in str(first)
