"""Passes: one file, one pass, kernel to kernel, pure. `pipeline.py` orders them."""
