"""What an operation of the language does in plain Python: explain that kernels are compiled."""


def not_executed(name: str) -> TypeError:
    """The exception of an operation that was run as Python."""
    return TypeError(f"`ak.{name}` stands in kernels, which agentkern compiles: Python cannot run it")
