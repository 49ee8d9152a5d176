"""What can be wrong with a call of a compiled kernel: one row a code, and the exception that carries one.

Data only. Codes AK70x to AK71x; kernel text has other codes.
"""

from __future__ import annotations

CALL_CODES: dict[str, str] = {
    "AK701": "an argument is missing, unknown or given twice",
    "AK702": "an argument is not a tensor",
    "AK703": "a tensor has another dtype than its parameter",
    "AK704": "a tensor has another rank than its parameter",
    "AK705": "an extent does not fit the parameter's shape, or a size cannot be found",
    "AK706": "a size breaks a promise made about it",
    "AK707": "strides that the parameter cannot have",
    "AK708": "tensors lie on different devices, or on one that this call cannot use",
    "AK709": "a tensor's address is not aligned",
    "AK710": "a tensor with elements has no memory",
    "AK711": "an output shares memory with another tensor",
    "AK712": "a scalar does not fit its dtype",
    "AK713": "an output is read-only",
}


class CallError(Exception):
    """A call that cannot be made: which parameter, what it got and what it expected."""

    def __init__(self, code: str, message: str, *, parameter: str = "", got: str = "", expected: str = "") -> None:
        assert code in CALL_CODES, code
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.parameter = parameter
        self.got = got
        self.expected = expected
