"""Look at an operator below its rules: at the functions of its backends, and the kernels that they call."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import jax

from ffi_bridge import XLACustomKernel
from ffi_bridge.operators import Call, concrete


@contextlib.contextmanager
def without_rules() -> Iterator[None]:
    """Trace operators within the block as the functions of their backends, without rules.

    Derivatives and batches then are those of the backend. A function that was traced before is not affected.
    """
    with mock.patch.object(XLACustomKernel, "bind", _of_backend):
        yield


def _of_backend(operator: XLACustomKernel, call: Call, ins: Sequence[Any]) -> list[Any]:
    backend = operator.chosen(jax.default_backend(), call, list(map(jax.typeof, ins)), call.outs.flat)
    return concrete(backend, call)(*ins)


def have_derivatives(f: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Return whether a kernel that `f` calls is differentiable; trace `f` within `without_rules`."""
    called = equations(jax.make_jaxpr(f)(*args).jaxpr, "native_kernel")
    return any(equation.params["kernel"].has_derivatives for equation in called)


def equations(jaxpr: Any, name: str) -> Iterator[Any]:
    """Yield the equations of the primitive `name`, in a program and in the programs that it calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == name:
            yield equation
        inner = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns"))
        for closed in inner:
            if hasattr(closed, "eqns"):
                yield from equations(closed, name)
