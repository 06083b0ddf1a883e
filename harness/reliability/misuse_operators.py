"""Every invalid call that an operator documents, with known arrays and with traced ones."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from misuse import Misuse

from event_ops.cases import InvalidCall
from event_ops.discover import Operator, operators


def _traced(operator: Operator, invalid_call: InvalidCall) -> None:
    """Shapes and dtypes are refused under jit as well; values cannot be seen there, and change no shape."""
    args, kwargs = invalid_call.make()
    arrays = {i: x for i, x in enumerate(args) if isinstance(x, np.ndarray)}

    def call(traced: dict[int, Any]) -> Any:
        return operator.function(*(traced.get(i, x) for i, x in enumerate(args)), **kwargs)

    try:
        results = jax.jit(call)(arrays)
    except invalid_call.error:
        return
    assert jax.tree.all(jax.tree.map(lambda x: x.size >= 0, jax.block_until_ready(results)))


def _known(operator: Operator, invalid_call: InvalidCall) -> Any:
    args, kwargs = invalid_call.make()
    return operator.function(*args, **kwargs)


def _act(operator: Operator, invalid_call: InvalidCall) -> Callable[[], object]:
    def act() -> object:
        _traced(operator, invalid_call)
        return _known(operator, invalid_call)

    return act


def _no_backend(operator: Operator) -> object:
    args, kwargs = operator.cases[0].make(np.random.default_rng(0), operator.dtypes[0], "int32")
    return operator.function(*args, **kwargs, backend="fortran")


CASES = (
    *(
        Misuse(
            f"{operator.name}: {invalid_call.name}",
            _act(operator, invalid_call),
            invalid_call.match,
            invalid_call.error,
        )
        for operator in operators()
        for invalid_call in operator.invalid_calls
    ),
    *(
        Misuse(
            f"{operator.name}: a backend that nobody has",
            partial(_no_backend, operator),
            "fortran.*numba_cpu",
        )
        for operator in operators()
    ),
)
