"""The fixed order of every reduction that rounds, as data.

Order version 2. An order is a function of the reduced axis's place in the value and of its static
extent class, never of a schedule. This file must not compute anything: the interpreter mirrors it
in `reference_reductions.py`, the lowering follows it on its own, and tests compare the two.
"""

from dataclasses import dataclass

from agentkern.compiler.ir.function_steps import Definition
from agentkern.compiler.ir.function_table import DEFINITIONS, FUNCTIONS

ORDER_VERSION = 2

FRAGMENT_EXTENT = 256
"""Largest static last-axis extent that is summed as one tree in the accumulator fragment's order."""

_FRAGMENT_BITS = (0, 3, 4, 5, 6, 7, 1, 2)
_ROW_BITS = (0, 1, 2, 8, 9, 3, 4, 5, 6, 7)


@dataclass(frozen=True, slots=True)
class SumOrder:
    """How one axis is added up.

    Element i belongs to panel i // panel_elems; inside a panel, element p goes to partial
    p % partials, each partial adding its elements in ascending order. The partials are then
    combined as a binary tree: for each bit in `tree_bits`, in that order, the partial whose index
    has the bit clear takes up the one whose index differs in that bit only. Complete panels are
    combined as a binary counter: two results of equal rank as soon as both exist, leftovers at the
    end from the lowest rank up. Absent positions count as -0.0 (1.0 for a product), which changes
    nothing; the sum of no elements is +0.0.
    """

    panel_elems: int
    partials: int
    tree_bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.panel_elems % self.partials != 0:
            raise ValueError(f"{self.panel_elems} elements do not fill {self.partials} partials")
        if sorted(self.tree_bits) != list(range(self.partials.bit_length() - 1)):
            raise ValueError(f"bits {self.tree_bits} do not cover {self.partials} partials")

    @property
    def rows(self) -> int:
        """Number of elements that one partial of a full panel adds."""
        return self.panel_elems // self.partials


@dataclass(frozen=True, slots=True)
class ScanOrder:
    """How the running values along one axis are added up.

    Element i belongs to panel i // panel_elems, and in it to run (i % panel_elems) // run_elems, in both directions.
    The elements of a run are added one after another from -0.0 on, which also gives what stands before an element in
    its run. The totals of a panel's runs are combined as a binary tree over the bits of the run's number, lowest bit
    first. What stands before a run in its panel begins as -0.0 and, for each bit in that sequence that puts another
    subtree before it, takes up that subtree's total. The panels' totals are added one after another, from -0.0, or
    +0.0 where the scan is exclusive. An element is (what is before its panel + what is before its run) + what its run
    gives. A reverse scan goes through all of it from the end: panels and runs stay where they are, and absent
    positions count as -0.0.
    """

    run_elems: int
    runs: int

    @property
    def panel_elems(self) -> int:
        """Elements of one panel."""
        return self.run_elems * self.runs


ROW_SCAN = ScanOrder(run_elems=8, runs=32)
COLUMN_SCAN = ScanOrder(run_elems=64, runs=1)


def scan_order(*, axis_is_last: bool) -> ScanOrder:
    """Return the order of a scan; `axis_is_last`: it runs along the value's last axis.

    A run sits in a thread's registers. Along the last axis a panel is what a warp reads at once.
    """
    return ROW_SCAN if axis_is_last else COLUMN_SCAN


LONG_ROW = SumOrder(panel_elems=8192, partials=1024, tree_bits=_ROW_BITS)
COLUMN = SumOrder(panel_elems=256, partials=32, tree_bits=(0, 1, 2, 3, 4))


def sum_order(axis_is_last: bool, static_extent: int | None) -> SumOrder:
    """Return the order of a sum; static_extent: elements along the (flattened) axes, None at run time.

    `axis_is_last`: the reduced axes include the value's last one.
    """
    if not axis_is_last:
        return COLUMN
    if static_extent is None or static_extent > FRAGMENT_EXTENT:
        return LONG_ROW
    padded = 1 << max(static_extent - 1, 0).bit_length()
    bits = tuple(bit for bit in _FRAGMENT_BITS if (1 << bit) < padded)
    return SumOrder(panel_elems=padded, partials=padded, tree_bits=bits)


@dataclass(frozen=True, slots=True)
class RoundingRow:
    """The order or formula of one operation that rounds, as the docs print it."""

    op: str
    rule: str


def _function_rule(definition: Definition) -> str:
    """A faithful function by its error, another by its formula; both by the list of operations behind them."""
    if definition.bound_ulp is None:
        return f"{definition.formula}, as written, each operation rounded to f32"
    return f"{definition.formula}; error below {definition.bound_ulp:g} ulp of f32, the same bits everywhere"


ROUNDING_ROWS: tuple[RoundingRow, ...] = (
    RoundingRow(
        "sum",
        "last axis of at most 256: a tree over the bits 0, 3, 4, 5, 6, 7, 1, 2 of the index; longer or run-time: "
        "panels of 8192, each 1024 partials of elements 1024 apart in ascending order, then a tree over the bits 0, 1, "
        "2, 8, 9, 3, 4, 5, 6, 7 of the partial's index; other axes: panels of 256, each 32 partials, bits 0 to 4; "
        "panels pairwise as a binary counter; identity -0.0; no elements: +0.0",
    ),
    RoundingRow("prod", "as sum, with products and identity 1.0"),
    RoundingRow("mean", "sum / n in the accumulation type, n rounded to it, one IEEE division"),
    RoundingRow(
        "cumsum",
        "last axis: runs of 8 in ascending order, 32 runs' totals as a binary tree, these panels' totals in ascending "
        "order; other axes: runs of 64, each a panel; then (before panel + before run) + own; reverse: descending; "
        "exclusive: a +0.0 stands before the panels",
    ),
    RoundingRow("dot (f32, f64)", "fma in ascending contracted index, from `acc` or the first product"),
    RoundingRow("einsum", "fma in ascending contracted index, from `acc` or the first product"),
    RoundingRow(
        "tri_inv",
        "forward substitution in blocks of 16, then two combining levels, fma in f32",
    ),
    RoundingRow("cummax, integer cumsum", "order-free; NaN propagates, -0 < +0; sums wrap"),
    RoundingRow("max, min, absmax", "order-free; NaN propagates, -0 < +0"),
    RoundingRow("integer sum, any, all", "order-free; sums wrap"),
    RoundingRow(
        "f16, bf16 arithmetic",
        "the f32 operation on the widened values, rounded once to the narrow type",
    ),
    RoundingRow("f16, bf16 sum, prod, mean, cumsum", "accumulated in f32, each result rounded once at the end"),
    RoundingRow("add, sub, mul, fma, div, sqrt, rsqrt", "correctly rounded, to nearest even"),
    *(RoundingRow(name, _function_rule(DEFINITIONS[name])) for name in FUNCTIONS),
    RoundingRow("casts", "round to nearest even; to fp8 saturating, infinities included"),
)
