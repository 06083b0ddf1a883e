"""Compare a derivative with differences of its kernel, and the reverse one with the forward one.

The debug mode does so at every call. For any direction `u` and covector `v` there is `<v, J u> = <J^T v, u>`,
which holds to rounding, also at a kink and where differences are noise. What is not finite is not compared,
nor what raises beside the inputs that were given.
"""

from collections.abc import Sequence
from typing import Any, Final

import numba
import numpy as np

from ffi_bridge.numba_cpu.derivatives.mode import Buffer, Mode

# How far differences may be off, relative to the derivative: more than they are, and less than an error is.
TOLERANCE: Final = 1e-3
_SIDES: Final = {"ahead": "step", "behind": "-step"}


def comparison(buffers: Sequence[Buffer], mode: Mode) -> list[str]:
    """Return lines of a kernel of order 1: they raise where the derivative is not that of the kernel."""
    inputs = [x.name for x in buffers if x.is_active and not x.is_output]
    outputs = [x.name for x in buffers if x.is_active and x.is_output]
    ways = {x: f"seed0__{x}" if mode.opens == "out" else f"_direction_({x})" for x in inputs}
    if mode.opens == "out":
        checks = [f"_compare_each_(result__{x}, ahead__{x}, behind__{x}, step, epsilon)" for x in outputs]
    else:
        sums = [
            ("result__", "way__", inputs),
            ("seed0__", "ahead__", outputs),
            ("seed0__", "behind__", outputs),
        ]
        totals = (" + ".join(f"_product_({a}{x}, {b}{x})" for x in names) for a, b, names in sums)
        checks = [f"_compare_sums_({', '.join(totals)}, step, epsilon)"]
    return [
        *(f"way__{x} = {way}" for x, way in ways.items()),
        f"epsilon = {_largest('_epsilon_', [*inputs, *outputs])}",
        f"scale = {_largest('_size_', inputs)} / {_largest('_size_', [f'way__{x}' for x in inputs])}",
        # Of a central difference, the step at which rounding weighs as much as curvature.
        "step = epsilon ** (1 / 3) * max(scale, 1e-3)",
        *(line for x in buffers if x.is_output for line in _beside(x, inputs)),
        "is_known = True",
        "try:",
        *(f"    {_call(buffers, inputs, side)}" for side in _SIDES),
        "except Exception:",
        "    is_known = False",
        "if is_known:",
        *(f"    {check}" for check in checks),
        *(_against_forward(buffers, inputs, outputs) if mode.opens == "in" else ()),
    ]


def _against_forward(buffers: Sequence[Buffer], inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Return lines that compare a reverse derivative with the forward one."""
    values = {x.name: f"again__{x.name}" if x.is_output else x.name for x in buffers}
    tangents = {x.name: f"{'along' if x.is_output else 'way'}__{x.name}" for x in buffers if x.is_active}
    table = (f"({value}, {tangents.get(name, '')})" for name, value in values.items())
    pairs = [(f"result__{x}", f"way__{x}") for x in inputs], [(f"seed0__{x}", f"along__{x}") for x in outputs]
    sums = (" + ".join(f"_product_({a}, {b})" for a, b in side) for side in pairs)
    return [
        *(f"{values[x.name]} = np.copy({x.begins or x.name})" for x in buffers if x.is_output),
        *(f"{tangents[x]} = np.zeros_like({x})" for x in outputs),
        f"if not _forward_(1, ({', '.join(table)},)):",
        f"    _compare_ways_({', '.join(sums)}, epsilon)",
    ]


def _largest(function: str, names: Sequence[str]) -> str:
    return f"max({', '.join(f'{function}({x})' for x in names)}, 0.0)"


def _beside(output: Buffer, moved: Sequence[str]) -> list[str]:
    """Return lines that begin an output on either side as the kernel finds it."""
    begun, name = output.begins or output.name, output.name
    return [
        f"{side}__{name} = " + (_step_of(begun, side) if begun in moved else f"np.copy({begun})")
        for side in _SIDES
    ]


def _call(buffers: Sequence[Buffer], moved: Sequence[str], side: str) -> str:
    shared = {x.begins: x.name for x in buffers if x.begins}
    arguments = []
    for x in buffers:
        value = x.name
        if x.is_output or x.name in shared:
            value = f"{side}__{shared.get(x.name, x.name)}"
        elif x.name in moved:
            value = _step_of(x.name, side)
        arguments.append(f"{x.name}={value}{'[()]' if x.is_number else ''}")
    return f"_kernel_({', '.join(arguments)})"


def _step_of(name: str, side: str) -> str:
    return f"_moved_({name}, way__{name}, {_SIDES[side]})"


@numba.njit
def _direction(x: Any) -> Any:
    """Return a direction without zeros, the same at every call."""
    return (1 + 0.5 * np.sin(7.0 * np.arange(x.size))).astype(x.dtype).reshape(x.shape)


@numba.njit
def _moved(x: Any, way: Any, step: Any) -> Any:
    """Return x + step * way."""
    return (x.reshape(x.size) + step * way.reshape(x.size)).astype(x.dtype).reshape(x.shape)


@numba.njit
def _size(x: Any) -> float:
    """Return the largest magnitude of an element."""
    largest = 0.0
    for element in x.reshape(x.size):
        largest = max(largest, abs(np.float64(element)))  # not np.max: a NaN is passed over
    return largest


@numba.njit
def _epsilon(x: Any) -> float:
    """Return the precision of the elements."""
    return np.float64(np.finfo(x.dtype).eps)


@numba.njit
def _product(x: Any, y: Any) -> Any:
    """Return the sum of products of elements, and that of their magnitudes."""
    terms = x.reshape(x.size).astype(np.float64) * y.reshape(y.size)
    return np.array([terms.sum(), np.abs(terms).sum()])


@numba.njit
def _compare(actual: float, expected: float, tolerance: float) -> None:
    if np.isfinite(actual) and np.isfinite(expected) and abs(actual - expected) > tolerance:
        raise AssertionError(
            "its derivative is not what differences of it say, or these inputs are at a kink",
            actual,
            expected,
        )


@numba.njit
def _compare_each(tangents: Any, ahead: Any, behind: Any, step: float, epsilon: float) -> None:
    """Compare tangents with differences of outputs."""
    dots, a, b = tangents.reshape(tangents.size), ahead.reshape(tangents.size), behind.reshape(tangents.size)
    # Rounding errors of the outputs, which the quotient divides by the step.
    noise = 10 * epsilon * max(_size(ahead), _size(behind)) / step
    allowed = noise + TOLERANCE * _size(tangents)
    for i in range(tangents.size):
        _compare(np.float64(dots[i]), (np.float64(a[i]) - np.float64(b[i])) / (2 * step), allowed)


@numba.njit
def _compare_sums(slope: Any, ahead: Any, behind: Any, step: float, epsilon: float) -> None:
    """Compare a cotangent along a direction with the difference of the weighed outputs."""
    noise = 10 * epsilon * max(ahead[1], behind[1]) / step
    _compare(slope[0], (ahead[0] - behind[0]) / (2 * step), noise + TOLERANCE * slope[1])


@numba.njit
def _compare_ways(back: Any, ahead: Any, epsilon: float) -> None:
    """Compare a cotangent along a direction with a tangent along a covector."""
    # Half of the digits: each side adds up other products, in another order.
    allowed = np.sqrt(epsilon) * max(back[1], ahead[1])
    if np.isfinite(allowed) and abs(back[0] - ahead[0]) > allowed:
        raise AssertionError(
            "its reverse derivative is not that of the forward mode: <J^T v, u> and <v, J u>",
            back[0],
            ahead[0],
        )


@numba.njit
def _no_forward(careful: int, buffers: Any) -> int:
    """Stand in for a forward derivative that Enzyme cannot make: it fails."""
    return 1


SCOPE: Final = {
    "_direction_": _direction,
    "_moved_": _moved,
    "_size_": _size,
    "_epsilon_": _epsilon,
    "_product_": _product,
    "_compare_each_": _compare_each,
    "_compare_sums_": _compare_sums,
    "_compare_ways_": _compare_ways,
    "_forward_": _no_forward,
}
