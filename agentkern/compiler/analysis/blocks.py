"""The numbers of a grid's blocks as symbols, and what bounds them.

For a block variable `t` over `extent`: `%t.at` is one index that the current block holds; with a written block also
`%t.ordinal`, and `%t` is the block's present extent. Two different blocks never share a `%t.at` or a `%t.ordinal`.
Symbols of a segment are those of `ragged.py`.
"""

from collections.abc import Iterable, Iterator

from agentkern.compiler.analysis.extents import SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import BlockType

ORDINAL_RANK = 3
INSIDE_RANK = 4


def label(block: BlockType) -> str:
    """The block variable's name in the kernel."""
    return block.name.lstrip("%").split(".")[0]


def at_name(block: BlockType) -> str:
    """The symbol of one index that the current block holds."""
    return f"{block.name}.at"


def ordinal_name(block: BlockType) -> str:
    """The symbol of the current block's number from 0."""
    return f"{block.name}.ordinal"


def ordinal(block: BlockType) -> int | Dim:
    """The number of a written block."""
    return dims.symbol(ordinal_name(block))


def start(block: BlockType) -> int | Dim:
    """The first index of a written block."""
    assert block.block is not None
    return dims.add(block.first, dims.mul(ordinal(block), block.block))


def end(block: BlockType) -> int | Dim:
    """One past the last index of a written block; a block of one index is never shorter."""
    return dims.add(start(block), 1 if block.block == 1 else block.current)


def count(block: BlockType) -> int | Dim:
    """How many blocks the axis has; of a block that the compiler sizes, how many of one index."""
    return block.length if block.block is None else dims.cdiv(block.length, block.block)


def has_one(block: BlockType) -> bool:
    """Whether the axis has one block at most, whatever the compiler chooses."""
    number = count(block)
    return isinstance(number, int) and number <= 1


def piece_of(low: int | Dim, high: int | Dim, blocks: Iterable[BlockType]) -> tuple[BlockType, int | Dim] | None:
    """The block whose pieces follow one another as `low` to `high`, and where the last one ends.

    Piece 0 starts at `low` of block 0. That a piece does not end before it starts is for the caller to show.
    """
    for block in blocks:
        if block.block != 1 or block.first != 0:
            continue
        number = ordinal_name(block)
        following = dims.substitute(low, {number: dims.add(ordinal(block), 1)})
        if number in dims.symbols(low) and following == high:
            return block, dims.substitute(low, {number: block.extent})
    return None


def place_name(extent: int | Dim) -> str:
    """The symbol of a position on an axis of this extent, which operations bind to an axis of theirs behind an `@`."""
    return f"%[{extent}]"


def pieces_in(
    form: int | Dim, blocks: Iterable[BlockType]
) -> Iterator[tuple[str, BlockType, tuple[int | Dim, int | Dim], int | Dim]]:
    """Symbols of a form that are positions in a piece: with its block, where it starts and ends, where the last ends.

    A piece's length is where the next one starts, less where it starts itself.
    """
    for block in blocks:
        for name in dims.symbols(form):
            length = position_extent(name)
            if not isinstance(length, Dim) or ordinal_name(block) not in dims.symbols(length):
                continue
            low = Dim(tuple((factors, -number) for factors, number in length.terms if number < 0))
            high = dims.add(length, low)
            piece = piece_of(low, high, (block,))
            if piece is not None:
                yield name, block, (low, high), piece[1]


def position_extent(name: str) -> int | Dim | None:
    """The extent of the axis that a symbol is any position on: of a slice it is not."""
    base, _, bound = name.partition("@")
    return dims.parse(base[2:-1]) if base.startswith("%[") and "+" not in bound else None


def block_facts(block: BlockType, level: int = 0) -> dict[str, SymbolFact]:
    """Bounds of a block's symbols inside its block; `level` raises their ranks over what a loop's bounds name."""
    last = dims.add(block.extent, -1)
    inside = INSIDE_RANK + level
    least = block.first if isinstance(block.first, int) else None
    if block.block is None:
        lows = () if least is not None else (block.first,)
        return {
            at_name(block): SymbolFact(least, lows=lows, highs=(last,), rank=inside),
            block.name: SymbolFact(1, highs=(block.length,), rank=inside),
        }
    first = start(block)
    if block.is_whole:
        return {
            ordinal_name(block): SymbolFact(0, 0, rank=ORDINAL_RANK + level),
            block.name: SymbolFact(0, block.block, highs=(block.extent,), rank=inside),
            at_name(block): SymbolFact(0, block.block - 1, highs=(last,), rank=inside),
        }
    return {
        ordinal_name(block): SymbolFact(0, highs=(dims.add(count(block), -1),), rank=ORDINAL_RANK + level),
        block.name: SymbolFact(1, block.block, highs=(dims.add(block.extent, dims.mul(first, -1)),), rank=inside),
        at_name(block): SymbolFact(least, lows=(first,), highs=(last, dims.add(first, block.block - 1)), rank=inside),
    }
