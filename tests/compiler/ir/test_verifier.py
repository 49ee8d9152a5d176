"""Every rule of the TILE table rejects its smallest violation and accepts the near miss beside it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.parser import IrSyntaxError, parse_kernel
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.compiler.ir.verifier import IrError, verify_kernel

HEAD = """agentkern.ir 1
kernel tile @k(%x: in<f32, [T, 8]>, %y: out<f32, [T, 8]>, %counts: inout<i64, [T]>, %i: i64, %s: f32) {} {
  size T {static = false, multiple_of = 1, minimum = 0, maximum = none}
  grid() {
  ^(%t: block<%t, T>, %w: block<%w, 8, 4>)
    %a = load(%x, %t) {index = ["$0", ":"]} : tile<f32, [%t, 8]>
    %n = load(%x, %t) {index = ["$0", "0:4"]} : tile<f32, [%t, 4]>
    %c = cast(%a) : tile<i32, [%t, 8]>
    %h = cast(%a) : tile<bf16, [%t, 8]>
    %d = cast(%a) : tile<f64, [%t, 8]>
    %p = lt(%a, %a) : tile<bool, [%t, 8]>
    %r = sum(%a) {axes = [1], keepdims = true} : tile<f32, [%t, 1]>
    %k = ordinal(%w) : i64
    %e = index(%t) : tile<i64, [%t]>
"""
TAIL = "  }\n}\n"
A = "tile<f32, [%t, 8]>"

# Operation, wrong line, what the error names, the near miss.
CASES = [
    ("add", f"%z = add(%a, %n) : {A}", "shape", f"%z = add(%a, %a) : {A}"),
    ("add", f"%z = add(%a, %c) : {A}", "i32", f"%z = add(%c, %c) : {A.replace('f32', 'i32')}"),
    ("add", f"%z = add(%a, %a) : {A.replace('f32', 'f16')}", "f16", f"%z = add(%a, %a) : {A}"),
    ("add", f"%z = add(%a) : {A}", "takes 2", f"%z = add(%a, %a) : {A}"),
    ("add", "add(%a, %a)", "results", f"%z = add(%a, %a) : {A}"),
    ("add", f"%z = add(%a, %a) {{axes = [0]}} : {A}", "no attribute", f"%z = add(%a, %a) : {A}"),
    ("and", f"%z = and(%a, %a) : {A}", "float", f"%z = and(%p, %p) : {A.replace('f32', 'bool')}"),
    ("shl", f"%z = shl(%a, %a) : {A}", "float", f"%z = shl(%c, %c) : {A.replace('f32', 'i32')}"),
    ("not", f"%z = not(%a) : {A}", "float", f"%z = not(%p) : {A.replace('f32', 'bool')}"),
    ("lt", f"%z = lt(%a, %a) : {A}", "bool", f"%z = lt(%a, %a) : {A.replace('f32', 'bool')}"),
    ("lt", "%z = lt(%a, %n) : tile<bool, [%t, 8]>", "shape", "%z = lt(%n, %n) : tile<bool, [%t, 4]>"),
    ("neg", f"%z = neg(%a) : {A.replace('f32', 'i32')}", "i32", f"%z = neg(%a) : {A}"),
    ("rsqrt", "%z = rsqrt(%c) : tile<i32, [%t, 8]>", "float", f"%z = rsqrt(%a) : {A}"),
    ("exp", "%z = exp(%c) : tile<i32, [%t, 8]>", "float", f"%z = exp(%a) : {A}"),
    ("exp", "%z = exp(%d) : tile<f64, [%t, 8]>", "f64", f"%z = exp(%a) : {A}"),
    ("isnan", f"%z = isnan(%a) : {A}", "bool", f"%z = isnan(%a) : {A.replace('f32', 'bool')}"),
    ("fma", "%z = fma(%c, %c, %c) : tile<i32, [%t, 8]>", "float", f"%z = fma(%a, %a, %a) : {A}"),
    ("fma", f"%z = fma(%a, %a) : {A}", "takes 3", f"%z = fma(%a, %a, %a) : {A}"),
    ("where", f"%z = where(%a, %a, %a) : {A}", "bool", f"%z = where(%p, %a, %a) : {A}"),
    ("where", f"%z = where(%p, %a, %c) : {A}", "mixes", f"%z = where(%p, %a, %a) : {A}"),
    ("where", f"%z = where(%p, %a, %n) : {A}", "shapes", f"%z = where(%p, %a, %a) : {A}"),
    ("cast", "%z = cast(%a) : tile<bf16, [%t, 4]>", "shape", "%z = cast(%a) : tile<bf16, [%t, 8]>"),
    ("bitcast", "%z = bitcast(%a) : tile<i64, [%t, 8]>", "width", "%z = bitcast(%a) : tile<i32, [%t, 8]>"),
    ("bitcast", "%z = bitcast(%a) : tile<i32, [%t, 4]>", "shape", "%z = bitcast(%a) : tile<u32, [%t, 8]>"),
    ("constant", "%z = constant() {value = 1} : tile<i32, [4]>", "scalar", "%z = constant() {value = 1} : i32"),
    ("constant", "%z = constant() : i32", "lacks", "%z = constant() {value = 1} : i32"),
    ("size", "%z = size() {extent = T} : tile<i64, [4]>", "scalar", "%z = size() {extent = T} : i64"),
    ("broadcast", f"%z = broadcast(%n) : {A}", "does not broadcast", f"%z = broadcast(%r) : {A}"),
    ("broadcast", f"%z = broadcast(%h) : {A}", "bf16", f"%z = broadcast(%a) : {A}"),
    ("broadcast", "%z = broadcast(%a) : tile<f32, [8]>", "rank", "%z = broadcast(%a) : tile<f32, [2, %t, 8]>"),
    ("reshape", "%z = reshape(%a) : tile<f32, [%t, 9]>", "numbers", "%z = reshape(%a) : tile<f32, [%t, 2, 4]>"),
    ("reshape", "%z = reshape(%a) : tile<i32, [%t, 8]>", "i32", "%z = reshape(%a) : tile<f32, [8 * %t]>"),
    (
        "transpose",
        "%z = transpose(%a) {permutation = [0, 0]} : tile<f32, [%t, %t]>",
        "permutation",
        "%z = transpose(%a) {permutation = [1, 0]} : tile<f32, [8, %t]>",
    ),
    (
        "transpose",
        f"%z = transpose(%a) {{permutation = [1, 0]}} : {A}",
        "shape",
        f"%z = transpose(%a) {{permutation = [0, 1]}} : {A}",
    ),
    (
        "slice",
        "%z = slice(%a) {starts = [0, 2], stops = [%t, 6]} : tile<f32, [%t, 5]>",
        "stops",
        "%z = slice(%a) {starts = [0, 2], stops = [%t, 6]} : tile<f32, [%t, 4]>",
    ),
    (
        "slice",
        "%z = slice(%a) {starts = [2], stops = [6]} : tile<f32, [%t, 4]>",
        "per axis",
        f"%z = slice(%a) {{starts = [0, 0], stops = [%t, 8]}} : {A}",
    ),
    (
        "sum",
        "%z = sum(%a) {axes = [2], keepdims = false} : tile<f32, [%t]>",
        "axes",
        "%z = sum(%a) {axes = [1], keepdims = false} : tile<f32, [%t]>",
    ),
    (
        "max",
        "%z = max(%a) {axes = [1, 0], keepdims = false} : f32",
        "sorted",
        "%z = max(%a) {axes = [0, 1], keepdims = false} : f32",
    ),
    (
        "sum",
        "%z = sum(%a) {axes = [1], keepdims = true} : tile<f32, [%t]>",
        "shape",
        "%z = sum(%a) {axes = [1], keepdims = true} : tile<f32, [%t, 1]>",
    ),
    (
        "argmax",
        "%z = argmax(%a) {axes = [1], keepdims = false} : tile<i32, [%t]>",
        "i64",
        "%z = argmax(%a) {axes = [1], keepdims = false} : tile<i64, [%t]>",
    ),
    (
        "concat",
        f"%z = concat(%a, %n) {{axis = 1}} : {A}",
        "join",
        "%z = concat(%a, %n) {axis = 1} : tile<f32, [%t, 12]>",
    ),
    (
        "take",
        "%q = cast(%c) : tile<i64, [%t, 8]>\n%z = take(%a, %q) {axis = 2} : tile<f32, [%t, 8]>",
        "rank",
        "%q = cast(%c) : tile<i64, [%t, 8]>\n%z = take(%a, %q) {axis = 1} : tile<f32, [%t, 8]>",
    ),
    (
        "take",
        "%z = take(%a, %c) {axis = 1} : tile<f32, [%t, 8]>",
        "not i64",
        "%q = cast(%c) : tile<i64, [%t, 8]>\n%z = take(%n, %q) {axis = 1} : tile<f32, [%t, 8]>",
    ),
    ("last", "%z = last(%a) {axis = 1} : tile<f32, [8]>", "result", "%z = last(%a) {axis = 1} : tile<f32, [%t]>"),
    ("bitcast_axis", f"%z = bitcast_axis(%d) : {A}", "bits", "%z = bitcast_axis(%d) : tile<f32, [%t, 16]>"),
    (
        "cumsum",
        "%z = cumsum(%a) {axis = 1, reverse = false, exclusive = false} : tile<f32, [%t, 4]>",
        "result",
        f"%z = cumsum(%a) {{axis = 1, reverse = false, exclusive = false}} : {A}",
    ),
    ("sort", f"%z = sort(%a) {{axis = 2}} : {A}", "axis", f"%z = sort(%a) {{axis = 1}} : {A}"),
    (
        "occurrence",
        f"%z = occurrence(%a) {{axis = 1}} : {A}",
        "result",
        "%z = occurrence(%a) {axis = 1} : tile<i32, [%t, 8]>",
    ),
    ("bincount", "%z = bincount(%a) : tile<i32, [4]>", "integer", "%z = bincount(%c) : tile<i32, [4]>"),
    (
        "topk",
        "%z, %v = topk(%a) {axis = 1, k = 2} : tile<f32, [%t, 2]>, tile<i64, [%t, 3]>",
        "results",
        "%z, %v = topk(%a) {axis = 1, k = 2} : tile<f32, [%t, 2]>, tile<i64, [%t, 2]>",
    ),
    ("arange", "%z = arange() : tile<i64, [2, T]>", "result", "%z = arange() : tile<i64, [T]>"),
    ("index", "%z = index(%t) : tile<i32, [%t]>", "result", "%z = index(%t) : tile<i64, [%t]>"),
    ("index", "%z = index(%i) : tile<i64, [%t]>", "not a block", "%z = index(%w) : tile<i64, [4]>"),
    ("ordinal", "%z = ordinal(%t) : i64", "compiler chose", "%z = ordinal(%w) : i64"),
    ("start", "%z = start(%t) : i64", "compiler chose", "%z = start(%w) : i64"),
    ("end", "%z = end(%w) : i32", "result", "%z = end(%w) : i64"),
    (
        "load",
        '%z = load(%a) {index = [":", ":"]} : ' + A,
        "tensor",
        '%z = load(%x) {index = [":", ":"]} : tile<f32, [T, 8]>',
    ),
    (
        "load",
        '%z = load(%x, %t) {index = ["$0"]} : ' + A,
        "subscripts",
        '%z = load(%x, %t) {index = ["$0", ":"]} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %t) {index = ["$1", ":"]} : ' + A,
        "order",
        '%z = load(%x, %t) {index = ["$0", ":"]} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %s) {index = ["$0", ":"]} : tile<f32, [8]>',
        "block",
        '%z = load(%x, %i) {index = ["$0", ":"]} : tile<f32, [8]>',
    ),
    (
        "load",
        '%z = load(%x, %t) {index = ["$0", ":"]} : tile<bf16, [%t, 8]>',
        "selects",
        '%z = load(%x, %t) {index = ["$0", ":"]} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %t) {index = ["$0", "2:6"]} : ' + A,
        "selects",
        '%z = load(%x, %t) {index = ["$0", "2:6"]} : tile<f32, [%t, 4]>',
    ),
    (
        "load",
        '%z = load(%x, %t) {index = ["$0", "+", ":"]} : ' + A,
        "selects",
        '%z = load(%x, %t) {index = ["$0", "+", ":"]} : tile<f32, [%t, 1, 8]>',
    ),
    ("store", 'store(%x, %a, %t) {index = ["$0", ":"]}', "input", 'store(%y, %a, %t) {index = ["$0", ":"]}'),
    ("store", 'store(%y, %h, %t) {index = ["$0", ":"]}', "selects", 'store(%y, %a, %t) {index = ["$0", ":"]}'),
    ("store", 'store(%y, %n, %t) {index = ["$0", ":"]}', "selects", 'store(%y, %n, %t) {index = ["$0", "0:4"]}'),
    ("store", 'store(%y, %t, %t) {index = ["$0", ":"]}', "tile", 'store(%y, %a, %t) {index = ["$0", ":"]}'),
    (
        "load",
        '%z = load(%x, %a) {index = ["$0", ":"]} : ' + A,
        "neither",
        '%z = load(%x, %e) {index = ["$0", ":"]} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %k) {index = ["@0", ":"]} : ' + A,
        "one axis",
        '%z = load(%x, %e) {index = ["@0", ":"]} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %e, %c) {index = ["$0", "$1"]} : tile<f32, [%t]>',
        "differ in shape",
        '%z = load(%x, %e, %e) {index = ["$0", "$1"]} : tile<f32, [%t]>',
    ),
    (
        "load",
        '%z = load(%x, %e, %e) {index = ["$0", "@1"]} : tile<f32, [%t]>',
        "selects",
        '%z = load(%x, %e, %e) {index = ["$0", "@1"]} : tile<f32, [%t, %t]>',
    ),
    (
        "load",
        '%z = load(%x, %t, %a) {index = ["$0", ":"], masked = true} : ' + A,
        "mask",
        '%z = load(%x, %t, %p) {index = ["$0", ":"], masked = true} : ' + A,
    ),
    (
        "load",
        '%z = load(%x, %t, %p, %k) {index = ["$0", ":"], masked = true, filled = true} : ' + A,
        "fill",
        '%z = load(%x, %t, %p, %s) {index = ["$0", ":"], masked = true, filled = true} : ' + A,
    ),
    (
        "store",
        'store(%y, %a, %t, %p) {index = ["$0", ":"]}',
        "operands",
        'store(%y, %a, %t, %p) {index = ["$0", ":"], masked = true}',
    ),
    (
        "atomic",
        'atomic(%y, %p, %t) {index = ["$0", ":"], kind = "add"}',
        "atomic of",
        'atomic(%counts, %e, %t) {index = ["$0"], kind = "add"}',
    ),
    (
        "atomic",
        'atomic(%y, %a, %t) {index = ["$0", ":"], kind = "add"}',
        "sums floats in any order",
        'atomic(%y, %a, %t) {index = ["$0", ":"], kind = "max"}',
    ),
    (
        "atomic",
        'atomic(%counts, %e, %t) {index = ["$0"], kind = "sub"}',
        "no atomic",
        'atomic(%counts, %e, %t) {index = ["$0"], kind = "max"}',
    ),
    ("require", 'require(%a) {message = "m"}', "not bool", 'require(%p) {message = "m"}'),
]


def kernel(line: str) -> Kernel:
    return parse_kernel(f"{HEAD}    {line}\n{TAIL}")


@pytest.mark.parametrize(("name", "wrong", "says", "right"), CASES, ids=[f"{c[0]}-{k}" for k, c in enumerate(CASES)])
def test_operation_that_breaks_its_rule_is_rejected(name: str, wrong: str, says: str, right: str) -> None:
    with pytest.raises(IrError, match=says) as caught:
        verify_kernel(kernel(wrong))
    assert caught.value.op.name == name
    verify_kernel(kernel(right))


def test_every_rule_of_the_table_has_a_case() -> None:
    rules = {TILE_OPS[case[0]].rule for case in CASES}
    missing = {name for name, row in TILE_OPS.items() if row.rule not in rules and row.rule is not None}
    assert missing <= {"grid", "loop", "branch"}  # those with regions have tests of their own


def test_grid_over_what_is_no_block_is_rejected() -> None:
    text = kernel(CASES[0][3])
    body = f"{HEAD}    grid() {{\n    ^(%q: i64)\n    }}\n{TAIL}"
    with pytest.raises(IrError, match="blocks"):
        verify_kernel(parse_kernel(body))
    verify_kernel(text)


def test_value_of_an_inner_region_is_not_visible_after_it() -> None:
    good = f"{HEAD}  }}\n  %z = neg(%s) : f32\n}}\n"
    verify_kernel(parse_kernel(good))
    with pytest.raises(IrError, match="before its definition"):
        verify_kernel(parse_kernel(good.replace("neg(%s) : f32", "neg(%a) : tile<f32, [%t, 8]>")))


def test_operation_of_another_stage_is_rejected() -> None:
    with pytest.raises(IrError, match="stage"):
        verify_kernel(kernel("barrier()"))


PIECES = (
    "none",
    "true",
    "[]",
    "[0]",
    "[9]",
    '["$0"]',
    '["$9", ":"]',
    '["a:b", ":"]',
    "[1.5]",
    '["$x"]',
    "[[0]]",
    '":"',
    "T",
)
ATTRIBUTES = (
    "%z = load(%x, %t) {{index = {0}}} : tile<f32, [%t, 8]>",
    "store(%y, %a, %t) {{index = {0}}}",
    "%z = sum(%a) {{axes = {0}, keepdims = {1}}} : tile<f32, [%t]>",
    "%z = transpose(%a) {{permutation = {0}}} : tile<f32, [8, %t]>",
    "%z = slice(%a) {{starts = {0}, stops = {1}}} : tile<f32, [%t, 8]>",
    "%z = constant() {{value = {0}}} : f32",
    "%z = size() {{extent = {0}}} : i64",
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(ATTRIBUTES), st.sampled_from(PIECES), st.sampled_from(PIECES))
def test_attribute_of_any_kind_is_accepted_or_an_error_of_the_verifier(line: str, first: str, second: str) -> None:
    try:
        verify_kernel(kernel(line.format(first, second)))
    except (IrError, IrSyntaxError):
        return


OPERANDS = ("%a", "%c", "%t", "%w", "%x", "%y", "%i", "%s", "%k")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from([case[3] for case in CASES]), st.data())
def test_operand_of_any_kind_is_accepted_or_an_error_of_the_verifier(line: str, data: st.DataObject) -> None:
    used = [name for name in (*OPERANDS, "%n", "%h", "%p", "%r") if f"({name}" in line or f", {name}" in line]
    for name in used:
        line = line.replace(name, data.draw(st.sampled_from((*OPERANDS, name))), 1)
    try:
        verify_kernel(kernel(line))
    except (IrError, IrSyntaxError):
        return


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("multiple_of = 1", "multiple_of = 0"),
        ("minimum = 0", "minimum = -1"),
        ("maximum = none", "maximum = T"),
        (", maximum = none", ""),
    ],
)
def test_size_with_an_impossible_promise_is_a_syntax_error(field: str, wrong: str) -> None:
    text = f"{HEAD}{TAIL}"
    verify_kernel(parse_kernel(text))
    with pytest.raises(IrSyntaxError, match="is no size"):
        parse_kernel(text.replace(field, wrong))


def test_extent_divided_by_zero_is_a_syntax_error() -> None:
    with pytest.raises(IrSyntaxError, match="division"):
        parse_kernel(f"{HEAD}{TAIL}".replace("[T, 8]", "[T // 0, 8]"))
