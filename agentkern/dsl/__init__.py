"""The language: what a kernel file imports. Names record or describe; nothing here computes.

Kernel text is parsed by the front end and never executed, so the bodies of operations raise.
"""
