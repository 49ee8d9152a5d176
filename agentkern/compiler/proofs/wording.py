"""Counterexamples in the words of the kernel: sizes, scalars, blocks, indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.records import records_of
from agentkern.compiler.ir.types import BlockType, TensorType
from agentkern.compiler.ir.views import View, spelled_view
from agentkern.compiler.proofs.violation import number


def sizes_of(facts: KernelFacts, values: Mapping[str, int]) -> dict[str, int]:
    """The sizes that a counterexample sets, in the order of the kernel."""
    return {s.name: values[s.name] for s in facts.kernel.sizes if s.name in values}


def scalars_of(facts: KernelFacts, values: Mapping[str, int]) -> dict[str, int]:
    """The run-time scalars that a counterexample sets."""
    return {name[1:]: values[name] for name in facts.forms.scalars if name in values}


def block_number(block: BlockType, values: Mapping[str, int], mark: str = "") -> int | None:
    """The number of a block; of one that the compiler sizes, an index that it holds."""
    name = blocks.at_name(block) if block.block is None else blocks.ordinal_name(block)
    found = values.get(name + mark)
    if found is None or block.block != 1 or not set(dims.symbols(block.first)) <= values.keys():
        return found
    return found + number(block.first, values)


def blocks_of(scope: Scope, values: Mapping[str, int], mark: str = "") -> dict[str, int]:
    """The numbers of a grid's blocks by variable."""
    found: dict[str, int] = {}
    for block in scope.present:
        number = block_number(block, values, mark)
        if number is not None:
            found[blocks.label(block)] = number
    return found


def spelled_blocks(scope: Scope, numbers: Mapping[str, int]) -> str:
    """`t = 5, block h = 1`: an index where the compiler sizes the block or the block is one index, else its number."""
    single = {blocks.label(b) for b in scope.present if b.block in (None, 1)}
    return ", ".join(f"{name} = {n}" if name in single else f"block {name} = {n}" for name, n in numbers.items())


def setting(facts: KernelFacts, values: Mapping[str, int]) -> str:
    """`T = 1, N = 0, i = -1`."""
    given = {**sizes_of(facts, values), **scalars_of(facts, values)}
    return ", ".join(f"{name} = {n}" for name, n in given.items())


def with_setting(facts: KernelFacts, values: Mapping[str, int], text: str) -> str:
    """A sentence that starts with the sizes that it holds for."""
    given = setting(facts, values)
    return f"{given}: {text}" if given else text


def element_text(facts: KernelFacts, name: str, element: Sequence[int]) -> str:
    """`o[3, 7]`; of records the field that holds the byte: `o[3].scale`."""
    layout = records_of(facts.kernel).get(name)
    if layout is None or not element:
        return f"{name}[{listed(element)}]"
    holding = [leaf.path for leaf in layout.leaves if isinstance(leaf.offset, int) and leaf.offset <= element[-1]]
    return f"{name}[{listed(element[:-1])}].{holding[-1]}" if holding else f"{name}[{listed(element)}]"


def place_text(facts: KernelFacts, tensor: Value, view: View, element: Sequence[int]) -> str:
    """An element of a view of a tensor: `o.reshape(T)[3]`; of a list `os[1][3, 7]`."""
    type_, name = tensor.type, tensor.name or ""
    assert isinstance(type_, TensorType)
    if type_.table and element:
        name, element = f"{name}[{element[0]}]", element[1:]
    return element_text(facts, spelled_view(name, type_, view), element)


def verb(access: Access) -> str:
    """What an access does."""
    return "writes" if access.writes else "reads"


def on_axis(access: Access, axis: int) -> str:
    """Which axis, where a tensor has several."""
    first = int(access.picks(0))
    return f" of axis {axis - first}" if len(access.axes) - first > 1 else ""


def by_offsets(scope: Scope, access: Access) -> str:
    """What to write where an access counts from loaded offsets: that their segments are apart is known of segments."""
    forms = [form for index in access.axes for form in (index.low, index.high)]
    forms += [form for index in access.axes if index.block for form in (index.block.first, index.block.extent)]
    for name in sorted({name for form in forms for name in dims.symbols(form)} & scope.forms.origins.keys()):
        load = scope.forms.origins[name]
        tensor = load.operands[0].name or ""
        if scope.forms.promises.get(tensor, Promise()).end is not None:
            return f"iterate over the segments: `for s in ak.grid(ak.segments({tensor})):`"
    return ""


def listed(numbers: Sequence[int]) -> str:
    """An element's indices as a subscript."""
    return ", ".join(map(str, numbers))
