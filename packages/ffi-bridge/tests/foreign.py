"""What the kernels of others are, and how they are wrapped: as they stand, with what they are called with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from ffi_bridge import numba_function, numba_kernel


@dataclass(frozen=True)
class Foreign:
    """A compiled function of somebody else's, unchanged.

    `inputs` of one call, in NumPy; `outs` as for the wrappers; `named` are its static arguments. `oracle` is
    the same function in Python, of the inputs.
    """

    function: Any
    inputs: tuple[Any, ...]
    outs: Any
    oracle: Callable[..., Any]
    named: dict[str, Any] = field(default_factory=dict)
    writes: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def wrapped(self) -> Callable[..., Any]:
        """Return the operation of JAX, of the inputs."""
        if self.outs is None:
            return numba_function(self.function)
        wrapper = numba_kernel if self.writes else numba_function
        call = wrapper(self.function, self.outs, static_argnames=tuple(self.named), **self.options)
        return lambda *ins: call(*ins, **self.named)


def returns(function: Any, *inputs: Any, outs: Any, **named: Any) -> Foreign:
    """Describe a function that returns its results."""
    return Foreign(function, inputs, outs, lambda *ins: function.py_func(*ins, **named), named)


def struct(shape: Any, dtype: Any = "float64") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((shape,) if isinstance(shape, int) else tuple(shape), dtype)
