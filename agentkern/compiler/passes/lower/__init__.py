"""PLACED to GPU, by topic: index arithmetic, coordinates, element loops, memory, reductions, streams, conversions."""
