"""The table of diagnostic codes: one row a code. Every row has a page in `pages/`.

Ranges: AK1xx syntax and subset, AK2xx names, types, shapes, AK3xx accesses and writes, AK4xx blocks and
loops, AK5xx numbers, AK6xx not supported yet and resources, AK7xx calls, AK8xx tools and environment,
AK9xx our own bugs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentkern.diagnostics.model import Diagnostic, Fix, Label, Severity, Span

Source = Literal["frontend", "proofs", "compiler", "call", "tool"]
Status = Literal["rejected", "unproved", "unsupported", "failed", "unavailable"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row. `message` and `hint` are templates over the fields that `error` is given.

    `source` says who reports it; `status` is what a result becomes through it.
    """

    code: str
    message: str
    hint: str = ""
    source: Source = "frontend"
    status: Status = "rejected"
    severity: Severity = "error"


def _proof(code: str, message: str, hint: str, status: Status = "rejected") -> Code:
    return Code(code, message, hint, "proofs", status)


def _call(code: str, message: str, hint: str = "") -> Code:
    return Code(code, message, hint, "call", "failed")


def _tool(code: str, message: str, hint: str = "", status: Status = "failed") -> Code:
    return Code(code, message, hint, "tool", status)


def _later(code: str, message: str, hint: str) -> Code:
    return Code(code, message, hint, "frontend", "unsupported")


_SYNTAX = (
    Code("AK101", "not valid Python: {reason}"),
    Code("AK102", "the file is not text: {reason}", "save it as UTF-8 without NUL characters"),
    Code("AK103", "the file has {size} bytes; at most {limit} are read", "keep one family of kernels in a file"),
    Code("AK104", "nested {depth} deep; at most {limit} is read", "name parts of the expression on lines of their own"),
    Code("AK105", "{what} is not part of the language", "{instead}"),
    Code("AK106", "{what} is not part of the language", "{instead}"),
    Code("AK107", "{what} does not belong at module level", "a kernel file holds imports of agentkern, names bound to literals, sizes and kernels"),
    Code("AK108", "`{module}` cannot be imported in a kernel file", "kernel text is read, not run: import only agentkern"),
    Code("AK109", "a kernel cannot call `{name}`", "{instead}"),
    Code("AK110", "{what} stands outside a grid", "move it into a `for ... in ak.grid(...)`"),
    Code("AK111", "kernel `{kernel}` has no grid", "read and write tensors inside `for t in ak.grid(T):`"),
    Code("AK112", "the file has no kernel", "mark a function with `@ak.kernel`"),
    Code("AK113", "the file has no kernel `{kernel}`", "it has {available}"),
    Code("AK114", "`{name}` is defined twice", "give each {what} its own name"),
    Code("AK115", "{what} cannot be a kernel's parameter", "write plain named parameters"),
    Code("AK116", "comparisons do not chain on tiles", "join two comparisons with `&`"),
    Code("AK117", "`{operator}` does not work on tiles", "write `{instead}`, with each side in parentheses"),
    Code("AK118", "`{name}` is not a decorator of the language", "kernels are marked `@ak.kernel`"),
    Code("AK119", "the expression has no effect", "assign it to a name, or store it: `out[...] = ...`"),
    Code("AK120", "a grid inside a {what}", "name all axes in one grid: `for m, n in ak.grid(M, N):`"),
    Code("AK121", "{reason}", "write one name per extent: `for m, n in ak.grid(M, N):`"),
    Code("AK122", "`{name}`: {reason}", "its form is `{form}`"),
    Code("AK123", "`{name}` is not an ASCII name", "use letters, digits and `_`"),
)

_TYPES = (
    Code("AK201", "unknown name `{name}`", "{hint_text}"),
    Code("AK202", "agentkern has no `{name}`", "{hint_text}"),
    Code("AK203", "size `{name}` is not defined", 'define it at module level: `{name} = ak.dim("{name}")`'),
    Code("AK204", "{kind} has no `{name}`", "{hint_text}"),
    Code("AK205", "`{operator}` mixes {left} and {right}", "convert one side: `.to(ak.{to})`"),
    Code("AK206", "`{operation}` does not work on {got}", "{hint_text}"),
    Code("AK207", "shapes {left} and {right} do not broadcast: {reason}", "{hint_text}"),
    Code("AK208", "{got} subscripts for `{name}`, which has {expected} axes {shape}", "write one subscript per axis, `:` for a whole one"),
    Code("AK209", "axis {axis} does not exist in shape {shape}", "axes count from 0 to {last}"),
    Code("AK210", "stores {got} to `{name}`, which is {expected}", "convert the value: `.to(ak.{expected})`"),
    Code("AK211", "stores shape {got} to `{target}`, which selects {expected}: {reason}", "{hint_text}"),
    Code("AK212", "cannot reshape {got} to {wanted}: {reason}", "keep the number of elements"),
    Code("AK213", "parameter `{name}`: {reason}", "write `x: ak.In[ak.bf16, T, H]`, `out: ak.Out[...]` or `eps: ak.f32`"),
    Code("AK214", "default of `{name}`: {reason}", "a default is a literal of the parameter's type"),
    Code("AK215", "not a size: {reason}", "sizes are names of `ak.dim` and `ak.static` and integers under `+ - * // %`, `ak.cdiv`, `ak.align`"),
    Code("AK216", "size `{name}`: {reason}", "{hint_text}"),
    Code("AK217", "tensor `{name}` is used without a subscript", "read it first: `{instead}`"),
    Code("AK218", "{what} must be known at compile time", "use a literal, an `ak.static` size or a compile-time parameter"),
    Code("AK219", "`.T` of {rank} axes", "`.T` swaps the axes of a 2-D tile; otherwise write `.transpose(...)`"),
    Code("AK220", "cannot bitcast {got} ({got_bits} bits) to {wanted} ({wanted_bits} bits)", "choose a dtype of the same width"),
    Code("AK221", "{what} cannot be a subscript", "subscripts are block variables, integers, slices, `:` and `None`"),
    Code("AK222", "position {position} is outside axis {axis} of {shape}", "positions run from 0 to the extent - 1"),
    Code("AK223", "{what} is not a value for `{operation}`", "{hint_text}"),
    Code("AK224", "`if` needs one compile-time value, got {got}", "pick per element with `ak.where(condition, a, b)`"),
)

_ACCESSES = (
    _proof("AK301", "`{statement}` reaches past the edge of `{tensor}`: {reason}", "make the sizes agree or shrink the slice"),
    _proof("AK302", "`{statement}` could not be shown to stay inside `{tensor}`", "relate the sizes, or promise one: `ak.dim(\"T\", multiple_of=..., min=..., max=...)`", "unproved"),
    _proof("AK303", "two blocks write the same element of `{tensor}`: {reason}", "let every grid axis pick its own part of the output"),
    _proof("AK304", "blocks could not be shown to write different elements of `{tensor}`", "subscript the output with every block variable", "unproved"),
    _proof("AK305", "elements of `{tensor}` are never written: {reason}", "let the grid cover every axis of the output"),
    _proof("AK306", "all elements of `{tensor}` could not be shown to be written", "write with the block variables of a grid over the output's own sizes", "unproved"),
    _proof("AK307", "`{statement}` may divide by zero: {reason}", "exclude zero, for example `ak.maximum(n, 1)`"),
    _proof("AK308", "`{statement}` may divide by zero", "exclude zero, for example `ak.maximum(n, 1)`", "unproved"),
    _proof("AK309", "an offset into `{tensor}` does not fit 64 bits: {reason}", "promise smaller sizes with `max=`"),
    Code("AK310", "output `{name}` is never written", "store to it, or remove it"),
    Code("AK311", "stores to input `{name}`", "declare it `ak.Out[...]`"),
    Code("AK312", "reads output `{name}`, {when}", "keep the value in a name, or read it in a later grid"),
    Code("AK313", "`{name}` is a tile: its elements cannot be assigned", "make a new value: `{name} = ak.where(..., ..., {name})`"),
)

_BLOCKS = (
    Code("AK401", "`.{attribute}` of block `{block}`, whose size the compiler chooses", "write the block: `ak.grid(..., block=128)`; `.index` always exists"),
    Code("AK402", "block `{block}` has no `.{attribute}`: the compiler chooses its size", "use `{block}` itself in shapes and subscripts"),
    Code("AK403", "`{operation}` over axis {axis}, block `{block}`, whose size the compiler chooses", "write the block (`block=128`), or use `:` to take the whole axis"),
    Code("AK404", "reshapes block `{block}`, whose size the compiler chooses", "keep `{block}` as an axis of its own, or write the block: `block=128`"),
    Code("AK405", "block `{block}` is not a number", "its indices are `{block}.index`"),
    Code("AK406", "a fixed position on axis {axis} of {shape}, a block that may be shorter", "subscript the tensor instead, or make the axis a whole `:`"),
    Code("AK407", "one value per block of `{block}` stored to every element of it", "write `{block}.ordinal`, with an output of one element per block"),
    Code("AK408", "`range` over {what}, which is known only at run time", "use `ak.grid({what})` for independent blocks"),
    Code("AK409", "a loop of {count} steps is unrolled; at most {limit} are", "use `:` and one operation on the whole axis"),
)

_NUMBERS = (
    Code("AK501", "{value} does not fit {dtype}: {reason}", "{hint_text}"),
    Code("AK502", "{value} is a float, the other side is {dtype}", "write an integer, or convert the tile: `.to(ak.f32)`"),
    Code("AK503", "`{operation}` of compile-time values has no dtype", "give one side a dtype: `ak.full((), 1.0, ak.f32)`"),
    Code("AK504", "compile-time arithmetic fails: {reason}"),
    Code("AK505", "shift by {amount} of {dtype}", "shift by 0 to {last}"),
    Code("AK506", "`/` of integers", "use `//` (rounds down), or convert: `.to(ak.f32)`"),
)

_LATER = (
    _later("AK601", "`{name}` is not supported yet", "{instead}"),
    _later("AK602", "parameter `{name}`: {what} is not supported yet", "{instead}"),
    _later("AK603", "subscript: {what} is not supported yet", "{instead}"),
    _later("AK604", "{what} is not supported yet", "{instead}"),
    Code("AK605", "the kernel has more than {limit} operations", "split it, or replace unrolled loops by whole-axis operations"),
    Code("AK610", "no code for {what} on {target} yet", "{instead}", "compiler", "unsupported"),
    Code("AK611", "needs {needed} bytes of shared memory; {target} has {limit}", "use smaller written blocks", "compiler", "unsupported"),
    Code("AK612", "spills {spilled} bytes of registers with every schedule tried", "use fewer values at a time, or smaller written blocks", "compiler", "failed"),
    Code("AK613", "the schedule does not fit this kernel: {reason}", "leave the schedule out to get the default", "compiler"),
)

_CALLS = (
    _call("AK701", "argument `{name}` is on {got}, expected {expected}", "move it to the GPU that runs the kernel"),
    _call("AK702", "argument `{name}` is {got}, expected {expected}", "convert it before the call"),
    _call("AK703", "argument `{name}` has {got} axes, expected {expected}"),
    _call("AK704", "argument `{name}` has strides {got}, expected {expected}", "pass `.contiguous()`"),
    _call("AK705", "argument `{name}`: axis {axis} is {got}, expected {expected}"),
    _call("AK706", "{reason}", "the call is `{form}`"),
    _call("AK707", "argument `{name}`: {value} is not a {expected}"),
    _call("AK708", "size `{name}` is {got}, promised {expected}"),
    _call("AK709", "`{name}` shares memory with `{other}`", "give every output memory of its own"),
    _call("AK710", "size `{name}` is shown by no argument", "name it at the call: `{name}=...`"),
    _call("AK711", "argument `{name}` is aligned to {got} bytes, expected {expected}", "pass a copy"),
    _call("AK712", "argument `{name}` of shape {shape} has no memory"),
    _call("AK713", "argument `{name}` is read-only, and the kernel writes it", "pass memory that can be written"),
)

_TOOLS = (
    _tool("AK801", "cannot read `{path}`: {reason}"),
    _tool("AK802", "`--dim {name}`: {reason}", "the kernel's sizes are {available}"),
    Code("AK803", "static size `{name}` has no value", "give it: `--dim {name}=...`", "frontend", "failed"),
    _tool("AK804", "`--set {name}`: {reason}", "the kernel's compile-time parameters are {available}"),
    _tool("AK805", "`{option}`: {reason}"),
    _tool("AK806", "no GPU can be used: {reason}", "use `--device cpu`", "unavailable"),
    _tool("AK807", "NVRTC cannot be used: {reason}", "install the package that `agentkern doctor` names", "unavailable"),
    _tool("AK808", "no C++ compiler can be used: {reason}", "install g++ 11 or newer", "unavailable"),
    _tool("AK809", "unknown target `{target}`", "targets are {available}"),
    _tool("AK810", "stopped after {seconds} s", "raise `--timeout`, or use smaller sizes"),
    _tool("AK811", "the reference cannot be used: {reason}"),
    _tool("AK901", "agentkern made an error of its own: {reason}", "please report it with the kernel's text"),
    _tool("AK902", "the CUDA compiler rejected agentkern's code: {reason}", "please report it with the kernel's text"),
)

CODES: Mapping[str, Code] = {
    row.code: row
    for row in (*_SYNTAX, *_TYPES, *_ACCESSES, *_BLOCKS, *_NUMBERS, *_LATER, *_CALLS, *_TOOLS)
}


def error(
    code: str,
    span: Span,
    *,
    labels: tuple[Label, ...] = (),
    fixes: tuple[Fix, ...] = (),
    hint: str | None = None,
    **fields: object,
) -> Diagnostic:
    """Make the diagnostic of a code; `fields` fill the templates and become its `data`.

    Errors: KeyError for an unknown code or a field that the templates need and did not get.
    """
    row = CODES[code]
    message = row.message.format_map(fields)
    text = row.hint.format_map(fields) if hint is None else hint
    data = {key: value for key, value in fields.items() if key not in ("hint_text", "instead")}
    return Diagnostic(code, row.severity, message, span, labels, text, fixes, data)


def status_of(diagnostics: tuple[Diagnostic, ...]) -> Status | Literal["ok"]:
    """The result's status that a list of diagnostics leads to; rejections outrank the rest."""
    found = {CODES[d.code].status for d in diagnostics if d.severity == "error"}
    order: tuple[Status, ...] = ("failed", "rejected", "unsupported", "unproved", "unavailable")
    for status in order:
        if status in found:
            return status
    return "ok"
