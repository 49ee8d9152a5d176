"""Compile, load, launch, time and cache kernels; run jobs in worker processes."""
