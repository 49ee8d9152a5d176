"""Codes of kernel text: AK1xx syntax, AK2xx names and types, AK3xx accesses, AK4xx blocks, AK5xx numbers."""

from agentkern.diagnostics.code import Code, proof

SYNTAX = (
    Code("AK101", "not valid Python: {reason}"),
    Code("AK102", "the file is not text: {reason}", "save it as UTF-8 without NUL characters"),
    Code("AK103", "the file is longer than the {limit} bytes that are read", "keep one family of kernels in a file"),
    Code("AK104", "nested {depth} deep; at most {limit} is read", "name parts of the expression on lines of their own"),
    Code("AK105", "{what} is not part of the language", "{instead}"),
    Code("AK106", "{what} is not part of the language", "{instead}"),
    Code(
        "AK107",
        "{what} does not belong at module level",
        "a kernel file holds imports of agentkern, names bound to literals, sizes, records and kernels",
    ),
    Code(
        "AK108", "`{module}` cannot be imported in a kernel file", "kernel text is read, not run: import only agentkern"
    ),
    Code("AK109", "a kernel cannot call `{name}`", "{instead}"),
    Code("AK110", "{what} stands outside a grid", "move it into a `for ... in ak.grid(...)`"),
    Code("AK111", "kernel `{kernel}` has no grid", "read and write tensors inside `for t in ak.grid(T):`"),
    Code("AK112", "the file has no kernel", "mark a function with `@ak.kernel`"),
    Code("AK113", "the file has no kernel `{kernel}`", "it has {available}", is_usage=True),
    Code("AK114", "`{name}` is defined twice", "give each {what} its own name"),
    Code("AK115", "{what} cannot be a kernel's parameter", "write plain named parameters"),
    Code("AK116", "comparisons do not chain on tiles", "join two comparisons with `&`"),
    Code("AK117", "`{operator}` does not work on tiles", "write `{instead}`, with each side in parentheses"),
    Code("AK118", "`{name}` is not a decorator of the language", "kernels are marked `@ak.kernel`"),
    Code("AK119", "the expression has no effect", "assign it to a name, or store it: `out[...] = ...`"),
    Code("AK120", "a grid inside a {what}", "name all axes in one grid: `for m, n in ak.grid(M, N):`"),
    Code("AK121", "{reason}", "write one name per extent: `for m, n in ak.grid(M, N):`"),
    Code("AK122", "`{name}`: {reason}", "its form is `{form}`"),
    Code("AK123", "`{name}` cannot name a {what}: {reason}", "choose another name of letters, digits and `_`"),
)

TYPES = (
    Code("AK201", "unknown name `{name}`", "{hint_text}"),
    Code("AK202", "agentkern has no `{name}`", "{hint_text}"),
    Code("AK203", "size `{name}` is not defined", 'define it at module level: `{name} = ak.dim("{name}")`'),
    Code("AK204", "{kind} has no `{name}`", "{hint_text}"),
    Code("AK205", "`{operator}` mixes {left} and {right}", "convert one side: `.to(ak.{to})`"),
    Code("AK206", "`{operation}` does not work on {got}", "{hint_text}"),
    Code("AK207", "shapes {left} and {right} do not broadcast: {reason}", "{hint_text}"),
    Code(
        "AK208",
        "{got} subscripts for `{name}`, which has {expected} axes {shape}",
        "write one subscript per axis, `:` for a whole one",
    ),
    Code("AK209", "axis {axis} does not exist in shape {shape}", "axes count from 0 to {last}"),
    Code("AK210", "stores {got} to `{name}`, which is {expected}", "convert the value: `.to(ak.{expected})`"),
    Code("AK211", "stores shape {got} to `{target}`, which selects {expected}: {reason}", "{hint_text}"),
    Code("AK212", "cannot reshape {got} to {wanted}: {reason}", "keep the number of elements"),
    Code(
        "AK213", "parameter `{name}`: {reason}", "write `x: ak.In[ak.bf16, T, H]`, `out: ak.Out[...]` or `eps: ak.f32`"
    ),
    Code("AK214", "default of `{name}`: {reason}", "a default is a literal of the parameter's type"),
    Code(
        "AK215",
        "not a size: {reason}",
        "sizes are names of `ak.dim` and `ak.static` and integers under `+ - * // %`, `ak.cdiv`, `ak.align`",
    ),
    Code("AK216", "size `{name}`: {reason}", "{hint_text}"),
    Code("AK217", "tensor `{name}` is used without a subscript", "read it first: `{instead}`"),
    Code(
        "AK218",
        "{what} must be known at compile time",
        "use a literal, an `ak.static` size or a compile-time parameter",
    ),
    Code("AK219", "`.T` of {rank} axes", "`.T` swaps the axes of a 2-D tile; otherwise write `.transpose(...)`"),
    Code(
        "AK220",
        "cannot bitcast {got} ({got_bits} bits) to {wanted} ({wanted_bits} bits)",
        "choose a dtype of the same width",
    ),
    Code("AK221", "{what} cannot be a subscript", "subscripts are block variables, integers, slices, `:` and `None`"),
    Code("AK222", "position {position} is outside axis {axis} of {shape}", "positions run from 0 to the extent - 1"),
    Code("AK223", "{what} is not a value for `{operation}`", "{hint_text}"),
    Code("AK224", "`if` needs one compile-time value, got {got}", "pick per element with `ak.where(condition, a, b)`"),
    Code(
        "AK225",
        "`{text}` is no window: a window is a sum of multiples of one block variable and scalars",
        "gather with a tile of indices: write `{block}.index`",
    ),
    Code(
        "AK228",
        "no record: {reason}",
        "write `KV = ak.Record(nope=(ak.e4m3, 512), scale=(ak.f32, 4), step=ak.i32)` at module level",
    ),
    Code(
        "AK226",
        "`{text}` runs over block `{block}`, which is an axis of this subscript too",
        "write `{block}.index` to take one element for each index, or make the tile over other axes",
    ),
    Code("AK227", "`{text}` is no view: {reason}", "{hint_text}"),
)

ACCESSES = (
    proof(
        "AK301",
        "`{statement}` reaches past the edge of `{tensor}`: {reason}",
        "make the sizes agree or shrink the slice",
    ),
    proof(
        "AK302",
        "`{statement}` could not be shown to stay inside `{tensor}`",
        'relate the sizes, or promise one: `ak.dim("T", multiple_of=..., min=..., max=...)`',
        "unproved",
    ),
    proof(
        "AK303",
        "two blocks write the same element of `{tensor}`: {reason}",
        "let every grid axis pick its own part of the output",
    ),
    proof(
        "AK304",
        "blocks could not be shown to write different elements of `{tensor}`",
        "subscript the output with every block variable",
        "unproved",
    ),
    proof("AK305", "elements of `{tensor}` are never written: {reason}", "let the grid cover every axis of the output"),
    proof(
        "AK306",
        "all elements of `{tensor}` could not be shown to be written",
        "write with the block variables of a grid over the output's own sizes",
        "unproved",
    ),
    proof("AK307", "`{statement}` may divide by zero: {reason}", "exclude zero, for example `ak.maximum(n, 1)`"),
    proof("AK308", "`{statement}` may divide by zero", "exclude zero, for example `ak.maximum(n, 1)`", "unproved"),
    Code("AK310", "output `{name}` is never written", "store to it, or remove it"),
    Code("AK311", "stores to input `{name}`", "declare it `ak.Out[...]`, or `ak.InOut[...]` if it is read too"),
    Code(
        "AK312",
        "reads `{name}`: {reason}",
        "keep the value in a name, read it in a later grid, or declare it `ak.InOut[...]`",
    ),
    Code(
        "AK313",
        "`{name}` is a tile: its elements cannot be assigned",
        "make a new value: `{name} = ak.where(..., ..., {name})`",
    ),
    proof(
        "AK314",
        "`{statement}` reads what another {other} writes: {reason}",
        "read only the block's own elements of `{tensor}`, or write to an `ak.Out` tensor",
    ),
    proof(
        "AK315",
        "`{statement}` could not be shown to read only the block's own elements of `{tensor}`",
        "subscript `{tensor}` in reads as in stores, or write to an `ak.Out` tensor",
        "unproved",
    ),
    proof(
        "AK316",
        "`{statement}` reads what no earlier grid has written: {reason}",
        "let an earlier grid write all of `{tensor}` that is read",
    ),
    proof(
        "AK317",
        "`{statement}` could not be shown to read only what earlier grids have written",
        "write `{tensor}` with the block variables of a grid over its own sizes",
        "unproved",
    ),
    Code(
        "AK320",
        "`{name}` of {dtype}: {reason}",
        "give each block its own output element and combine them in a second grid, or let the bits differ from run to "
        "run: `@ak.kernel(nondeterministic=True)`",
    ),
    proof(
        "AK321",
        "`{statement}` could not be shown to write different elements of `{tensor}`",
        "promise that the indices are distinct: `.distinct()` on their parameter, or `ak.store(..., distinct=True)`",
        "unproved",
    ),
    proof(
        "AK331",
        "`{statement}` may have too few elements: {reason}",
        'promise that there are enough: `ak.dim("N", min=...)`',
    ),
    proof(
        "AK332",
        "`{statement}` could not be shown to have enough elements",
        'promise that there are enough: `ak.dim("N", min=...)`',
        "unproved",
    ),
)

BLOCKS = (
    Code(
        "AK401",
        "`.{attribute}` of block `{block}`, whose size the compiler chooses",
        "write the block: `ak.grid(..., block=128)`; `.index` always exists",
    ),
    Code(
        "AK402",
        "block `{block}` has no `.{attribute}`: the compiler chooses its size",
        "use `{block}` itself in shapes and subscripts",
    ),
    Code(
        "AK403",
        "`{operation}` over axis {axis}, block `{block}`, whose size the compiler chooses",
        "write the block (`block=128`), or use `:` to take the whole axis",
    ),
    Code(
        "AK404",
        "reshapes block `{block}`, whose size the compiler chooses",
        "keep `{block}` as an axis of its own, or write the block: `block=128`",
    ),
    Code("AK405", "block `{block}` is not a number", "its indices are `{block}.index`"),
    Code(
        "AK406",
        "a fixed position on axis {axis} of {shape}, a block that may be shorter",
        "subscript the tensor instead, or make the axis a whole `:`",
    ),
    Code(
        "AK407",
        "one value per block of `{block}` stored to every element of it",
        "write `{block}.ordinal`, with an output of one element per block",
    ),
    Code(
        "AK408",
        "`range` over {what}, which is known only at run time",
        "use `ak.grid({what})` for independent blocks, in a grid `ak.steps(ak.each({what}))` to go in order",
    ),
    Code(
        "AK409",
        "a loop of {count} steps is unrolled; at most {limit} are",
        "use `:` and one operation on the whole axis",
    ),
    Code(
        "AK410",
        "`{name}` carries a value from one block to the next",
        "blocks are independent: take a whole axis with `:`, or give the new value a name of its own",
    ),
    Code(
        "AK411",
        "`ak.segments` of {what}: no offsets are promised",
        "give it a parameter that promises them: `offsets: ak.In[ak.i32, E + 1].offsets(T)`",
    ),
    Code(
        "AK412",
        "`{block}` is a whole segment, and this axis has one element for each segment",
        "a segment's number is `{block}.ordinal`",
    ),
    Code("AK420", "`{name}` changes from step to step, and its first value is a number without dtype", "{hint_text}"),
    Code(
        "AK421",
        "`{name}` is {before} before the region and {after} at its end",
        "keep one type: convert with `.to(...)`, or give the new value a name of its own",
    ),
    Code(
        "AK422",
        "`{name}` depends on how the steps of `{block}` are cut, and the compiler chooses that",
        "write the block: `ak.steps(..., block=128)`; it is part of the answer then",
    ),
    Code(
        "AK423",
        "{what} depends on where steps begin and end, and the compiler chooses that",
        "write the block: `ak.steps(..., block=128)`; it is part of the answer then",
    ),
    Code("AK424", "this cannot say which steps run", "{hint_text}"),
    Code("AK425", "in a loop over elements: {reason}", "{hint_text}"),
    Code(
        "AK429",
        "a softmax in steps over an axis of {extent}, which is one value as it stands",
        "take the whole axis with `:`; subtract `ak.max` of it, take `ak.exp`, divide by `ak.sum`",
        severity="note",
    ),
    Code("AK430", "a required condition never holds: {message}", "build it for sizes and settings that it allows"),
    Code(
        "AK431",
        "`nondeterministic=True` is not needed: every operation of this build gives the same bits in any order",
        "leave it out, and verification can show equal bits: `@ak.kernel`",
        severity="note",
    ),
)

NUMBERS = (
    Code("AK501", "{value} does not fit {dtype}: {reason}", "{hint_text}"),
    Code(
        "AK502", "{value} is a float, the other side is {dtype}", "write an integer, or convert the tile: `.to(ak.f32)`"
    ),
    Code(
        "AK503",
        "`{operation}` of compile-time values has no dtype",
        "give one side a dtype: `ak.full((), 1.0, ak.f32)`",
    ),
    Code("AK504", "compile-time arithmetic fails: {reason}"),
    Code("AK505", "shift by {amount} of {dtype}", "shift by 0 to {last}"),
    Code("AK506", "`/` of integers", "use `//` (rounds down), or convert: `.to(ak.f32)`"),
    Code(
        "AK507",
        "a row that is -inf throughout gives NaN here: -inf minus -inf",
        "subtract a finite number where the maximum is -inf: `ak.where(m > -ak.inf, m, 0.0)`",
        severity="warning",
    ),
)
