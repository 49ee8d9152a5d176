"""The front end: kernel text to TILE IR, with every error of a kernel in one pass.

Text is parsed, never executed. Import what tools need from here.
"""

from agentkern.compiler.frontend.lower import FrontendResult, lower_source
from agentkern.compiler.frontend.source import decode_source

__all__ = ["FrontendResult", "decode_source", "lower_source"]
