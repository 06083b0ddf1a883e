"""Check the arguments of neuron operators: method, state, parameters."""

from collections.abc import Sequence
from typing import Any

import jax

from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_same_dtype, check_shape
from event_ops.checks.inputs import in_dtype, is_number, is_weak_number

METHODS = ("exact", "euler")


def check_method(method: str, methods: Sequence[str] = METHODS) -> None:
    """Raise ValueError unless `method` names one of the integration methods."""
    if method not in methods:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, methods))}")


def check_state(V_m: jax.Array, **others: jax.Array) -> None:
    """Raise unless V_m holds floats, and each further state has the same dtype and one element per neuron."""
    check_dtype("V_m", V_m, FLOATS)
    for name, x in others.items():
        check_same_dtype(name, x, "V_m", V_m)
        check_shape(name, x, V_m.shape, why="one per neuron, as V_m")


def per_neuron(name: str, x: Any, V_m: jax.Array) -> jax.Array:
    """Return a parameter in the dtype of V_m, 0-d or in its shape."""
    value = in_dtype(x, V_m.dtype)
    if value.ndim:
        check_shape(name, value, (), V_m.shape, why="one for all, or one per neuron, as V_m")
    return value


def current_per_neuron(name: str, x: Any, V_m: jax.Array) -> jax.Array:
    """Return an input as `per_neuron` does; raise unless it is a number or has the dtype of V_m."""
    if not (is_number(x) or is_weak_number(x)):
        check_same_dtype(name, as_array(x, name), "V_m", V_m)
    return per_neuron(name, x, V_m)


def each_per_neuron(V_m: jax.Array, **parameters: Any) -> dict[str, jax.Array]:
    """Return the parameters by name, each as `per_neuron` returns it."""
    return {name: per_neuron(name, x, V_m) for name, x in parameters.items()}
