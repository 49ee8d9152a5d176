"""Proofs about TILE kernels: bounds, disjoint writes, coverage, divisors, offsets, alignment; one record each."""

from agentkern.compiler.proofs.diagnose import diagnose
from agentkern.compiler.proofs.prove import alignment_elems, block_span, prove_kernel
from agentkern.compiler.proofs.records import ProofRecord, ProofReport

__all__ = [
    "ProofRecord",
    "ProofReport",
    "alignment_elems",
    "block_span",
    "diagnose",
    "prove_kernel",
]
