"""What the function that a wrapped kernel becomes says of itself: the kernel's name, text and inputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def describe_as(kernel: Callable[..., Any], surplus: int) -> Callable[[F], F]:
    """As `functools.wraps`, with a signature that lacks the last `surplus` parameters, which are no inputs.

    What the function takes by keyword alone stays in it.

    JAX binds arguments to the signature of what is given to `jax.custom_vjp`, for example.
    """
    parameters = list(inspect.signature(kernel).parameters.values())
    inputs = parameters[: max(0, len(parameters) - surplus)]

    def describe(call: F) -> F:
        options = [p for p in inspect.signature(call).parameters.values() if p.kind is p.KEYWORD_ONLY]
        functools.update_wrapper(call, kernel)
        vars(call)["__signature__"] = inspect.Signature([*inputs, *options])
        return call

    return describe
