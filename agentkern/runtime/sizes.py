"""Find a call's sizes from its tensors' shapes, and hold them to what the kernel was promised.

The equations are the extents of the tensor parameters; the arithmetic of extents is `compiler/ir/dims.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.dims import Dim, Symbol, solve, substitute, symbols
from agentkern.runtime.call_errors import CallError


@dataclass(frozen=True, slots=True)
class _Equation:
    parameter: str
    axis: int
    extent: int | Dim
    given: int


def solve_sizes(
    params: tuple[TensorParam, ...],
    shapes: Mapping[str, tuple[int, ...]],
    infos: tuple[SizeInfo, ...],
    named: Mapping[str, int],
) -> dict[str, int]:
    """Return every size: those `named` at the call, then those that the `shapes` of the given tensors show.

    Errors: AK703 rank; AK705 an extent that does not fit; AK708 a broken promise; AK710 a size that nothing shows.
    """
    known = dict(named)
    pending = _equations(params, shapes)
    while pending:
        waiting = [equation for equation in pending if not _settle(equation, known)]
        if len(waiting) == len(pending):
            break
        pending = waiting
    needed = {name for param in params for extent in param.shape for name in symbols(extent)}
    for name in sorted(needed | {info.name for info in infos}):
        if name not in known:
            raise CallError("AK710", name=name)
    # An equation in several unknowns is settled once the others have given them.
    for equation in pending:
        _settle(equation, known)
    for info in infos:
        _check_promises(info, known[info.name])
    return known


def shape_of(param: TensorParam, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape that `param` has for `sizes`.

    Errors: AK705 for an extent below 0.
    """
    shape: list[int] = []
    for axis, extent in enumerate(param.shape):
        value = _value(extent, sizes)
        if not isinstance(value, int) or value < 0:
            raise _misfit(_Equation(param.name, axis, extent, 0), sizes)
        shape.append(value)
    return tuple(shape)


def _equations(params: tuple[TensorParam, ...], shapes: Mapping[str, tuple[int, ...]]) -> list[_Equation]:
    equations: list[_Equation] = []
    for param in params:
        shape = shapes.get(param.name)
        if shape is None:
            continue
        if len(shape) != len(param.shape):
            expected = f"{len(param.shape)}: [{', '.join(map(str, param.shape))}]"
            raise CallError("AK703", name=param.name, got=len(shape), expected=expected)
        pairs = zip(param.shape, shape, strict=True)
        equations += [_Equation(param.name, axis, extent, given) for axis, (extent, given) in enumerate(pairs)]
    return equations


def _settle(equation: _Equation, known: dict[str, int]) -> bool:
    """Check the equation, or learn its one unknown; False while it has several or is not linear."""
    rest = _value(equation.extent, known)
    if isinstance(rest, int):
        if rest != equation.given:
            raise _misfit(equation, known)
        return True
    if not _linear(rest):
        return False
    name = _name_of(rest)
    found = solve(rest, equation.given, known) if name is None else (name, equation.given)
    if found is None or found[1] < 0:
        raise _misfit(equation, known)
    known[found[0]] = found[1]
    return True


def _value(extent: int | Dim, known: Mapping[str, int]) -> int | Dim:
    """Substitute; most extents are a number or a name, and calls are many."""
    if isinstance(extent, int):
        return extent
    name = _name_of(extent)
    return substitute(extent, known) if name is None else known.get(name, extent)


def _name_of(extent: Dim) -> str | None:
    if len(extent.terms) != 1:
        return None
    monomial, coefficient = extent.terms[0]
    if coefficient != 1 or len(monomial) != 1 or not isinstance(monomial[0], Symbol):
        return None
    return monomial[0].name


def _linear(extent: Dim) -> bool:
    """Whether the extent is a multiple of one size plus a number, so that its solution is the only one."""
    monomials = [monomial for monomial, _ in extent.terms if monomial]
    return len(monomials) == 1 and len(monomials[0]) == 1 and isinstance(monomials[0][0], Symbol)


def _misfit(equation: _Equation, known: Mapping[str, int]) -> CallError:
    value = substitute(equation.extent, known)
    expected = f"`{equation.extent}`" if isinstance(value, Dim) else str(value)
    names = [name for name in symbols(equation.extent) if name in known]
    if names and isinstance(value, int):
        expected += f" (`{equation.extent}` with {', '.join(f'{name} = {known[name]}' for name in names)})"
    return CallError("AK705", name=equation.parameter, axis=equation.axis, got=equation.given, expected=expected)


def _check_promises(info: SizeInfo, number: int) -> None:
    expected = ""
    if number % info.multiple_of:
        expected = f"a multiple of {info.multiple_of}"
    elif number < info.minimum:
        expected = f"at least {info.minimum}"
    elif info.maximum is not None and number > info.maximum:
        expected = f"at most {info.maximum}"
    if expected:
        raise CallError("AK708", name=info.name, got=number, expected=expected)
