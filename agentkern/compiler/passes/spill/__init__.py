"""Spilling: grids whose values do not fit the chip walk them in chunks and keep them in memory of their own.

`extents` says which axes are long, `places` which part of an operand a part of a result needs, `values` computes parts,
`memory` keeps whole values, `walks` goes through them, `regions` does so operation by operation.
"""
