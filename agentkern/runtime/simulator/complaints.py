"""What the engine's complaints say: one row for each `Complaint` of engine/interface.h, in its order.

`{a}` and `{b}` are the finding's two values.
"""

from __future__ import annotations

COMPLAINTS = (
    "no mbarrier was initialised at byte {a} of shared memory",
    "the mbarrier at byte {a} is initialised again without being invalidated",
    "an mbarrier counts 1 to 1048575 arrivals, not {a}",
    "the mbarrier at byte {a} is used by a thread that cannot know of its initialisation at line {b}",
    "an asynchronous copy reports to the mbarrier at byte {a}, whose initialisation at line {b} no"
    " `ak_mbarrier_fence_init` or `ak_fence_proxy_async` follows",
    "more arrivals at the mbarrier at byte {a} than its count, {b}, while its phase waits for bytes",
    "copies brought {b} bytes more than the mbarrier at byte {a} was told to expect",
    "an ordinary access touches the mbarrier at byte {a}",
    "the mbarrier at byte {a} would expect {b} bytes; it holds at most 1048575",
    "byte {a} of shared memory cannot hold an mbarrier: 8 bytes, aligned",
    "not a tensor map: word 0 is {a:#x}",
    "word {a} of the tensor map has the value {b}, which no copy takes",
    "a copy of {a} dimensions through a tensor map of {b}",
    "a box of {a} bytes a row under a swizzle of {b} bytes is not modelled",
    "byte {a} of shared memory cannot hold {b} bytes for this instruction: outside, of another block, or not aligned",
    "a bulk copy of {a} bytes: a positive multiple of 16 up to 1048576 is needed",
    "a bulk copy with the global address {a:#x}: in a buffer and aligned to 16 bytes is needed",
    "block {a:#x} (number or mask) is not of the cluster of {b} blocks",
    "the matrix descriptor leads to byte {a} of shared memory, outside it",
    "matrix descriptors with a base offset ({a}) are not modelled",
    "the matrix descriptor {a:#x} has bits set that have no meaning",
    "a row of a matrix at byte {a} of shared memory: 16 bytes, aligned, inside are needed",
    "cp.async from {a:#x} with {b} source bytes: at most the width, and aligned to it",
    "named barrier {a} with {b} threads: numbers 0 to 15, whole warps of the block, the same count each time",
    "a thread arrives twice at named barrier {a} in one phase",
    "`ak_cluster_wait` and `ak_cluster_arrive` do not take turns",
    "a thread has 24 to 256 registers in steps of 8, not {a}",
    "`setmaxnreg` to {a} registers in the wrong direction from {b}",
    "accumulators of a product in flight were changed: thread {a} of the warpgroup, register {b}",
    "registers of A were changed while the product at line {b} may still read them: thread {a} of the warpgroup",
    "accumulators were set (thread {a} of the warpgroup, register {b}) with no `ak_wgmma_fence` before the product",
    "a product was committed, and never waited for",
    "a product was never committed, so nothing waits for it",
    "a store from shared memory was committed, and never waited for",
    "a store from shared memory was never committed, so nothing waits for it",
    "an asynchronous copy into shared memory was never waited for",
    "a copy into shared memory was never waited for (mbarrier at byte {a})",
    "threads of one warpgroup are at different instructions: thread {a} here, its first thread at line {b}",
    "threads of one warpgroup give different operands: thread {a} and its first thread, at line {b}",
    "shared memory written under a swizzle of {a} bytes is read under one of {b} bytes",
    "the shared memory of block {a} of the cluster is used after that block has ended",
    "a thread arrives at the mbarrier at byte {a} for phase {b} and cannot know that the phase before has ended, so the"
    " arrival may count for that",
    "a thread arrives at named barrier {a} and cannot know that those who used it last have met, so it may be one"
    " of them",
    "the innermost coordinate, {a}, begins the box at byte {b} of its row: a multiple of 16 is needed",
    "a store to coordinate {b} of dimension {a} (0 is the innermost): stores take no negative coordinates",
    "a thread keeps 24 to 248 registers in steps of 8, not {a}: it has at most 255 at launch",
)
