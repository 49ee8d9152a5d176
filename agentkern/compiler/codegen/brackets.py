"""Brackets of C++ expressions: which may go where an expression stands, and which must come."""


def is_wrapped(expression: str) -> bool:
    """Whether the first bracket closes at the end."""
    depth = 0
    for position, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(expression) - 1
    return False


def bare(expression: str) -> str:
    """The expression without brackets around all of it."""
    return expression[1:-1] if expression.startswith("(") and is_wrapped(expression) else expression


def factor(expression: str) -> str:
    """What may stand before `/` or `%`."""
    return expression if expression.isalnum() else f"({expression})"


def summand(expression: str) -> str:
    """What may follow `+`: without its parentheses unless an operator that binds more loosely stands inside them."""
    inner, depth = bare(expression), 0
    for character in inner:
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in "&|^?<>=":
            return expression
    return inner
