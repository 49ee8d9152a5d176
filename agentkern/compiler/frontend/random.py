"""`ak.philox`: random numbers that are a function of a seed and an index, spelled in integer operations.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011). The key is the seed,
low word first. The counter's low two words are the index, low word first; the others are 0. The result is the four
words, as a tuple.
"""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import (
    as_tile,
    broadcast,
    cast,
    constant,
    is_compile_time,
    together,
    weak_tile,
)
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.operators import check_domain
from agentkern.compiler.frontend.values import FrontValue, Tile, Tuple
from agentkern.dsl.dtypes import DTYPES

FORM = "ak.philox(seed, index)"
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
U32, U64 = DTYPES["u32"], DTYPES["u64"]


def philox(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
    """Four u32 tiles of random bits. Errors: AK206, AK207."""
    tiles: list[Tile] = []
    nodes = [arguments[name].node for name in ("seed", "index")]
    for name, at in zip(("seed", "index"), nodes, strict=True):
        value = arguments[name].value
        tile = weak_tile(lw, value, I64, at) if is_compile_time(value) else as_tile(lw, value, at, "ak.philox")
        check_domain(lw, "integer", tile, at, "ak.philox")
        tiles.append(cast(lw, cast(lw, tile, I64, at) if tile.dtype.kind == "signed" else tile, U64, at))
    key, counter = ([_word(lw, tile, k, node) for k in range(2)] for tile in together(lw, tiles, nodes, node))
    zero = broadcast(lw, constant(lw, U64, 0, node), counter[0].shape, node)
    words = [*counter, zero, zero]
    for turn in range(ROUNDS):
        if turn:
            key = [_low(lw, _number(lw, "add", k, step, node), node) for k, step in zip(key, KEY_STEPS, strict=True)]
        words = _round(lw, words, key, node)
    return Tuple(tuple(cast(lw, word, U32, node) for word in words))


def _round(lw: Lowering, words: list[Tile], key: list[Tile], node: ast.Call) -> list[Tile]:
    """One round: two products of 32 by 32 bits, their halves crossed over."""
    first, second = (_number(lw, "mul", words[2 * k], MULTIPLIERS[k], node) for k in range(2))
    mixed = [
        _both(lw, "xor", _both(lw, "xor", _word(lw, product, 1, node), word, node), k, node)
        for product, word, k in ((second, words[1], key[0]), (first, words[3], key[1]))
    ]
    return [mixed[0], _low(lw, second, node), mixed[1], _low(lw, first, node)]


def _both(lw: Lowering, name: str, a: Tile, b: Tile, node: ast.Call) -> Tile:
    return Tile(lw.emit(name, (a.value, b.value), a.type, node))


def _number(lw: Lowering, name: str, a: Tile, number: int, node: ast.Call) -> Tile:
    return _both(lw, name, a, broadcast(lw, constant(lw, U64, number, node), a.shape, node), node)


def _low(lw: Lowering, tile: Tile, node: ast.Call) -> Tile:
    return _number(lw, "and", tile, 0xFFFFFFFF, node)


def _word(lw: Lowering, tile: Tile, k: int, node: ast.Call) -> Tile:
    """The low or the high word of 64 bits."""
    return _low(lw, tile, node) if k == 0 else _number(lw, "shr", tile, 32, node)
