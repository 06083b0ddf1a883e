"""Check inputs: invalid calls are refused as documented, and no kernel leaves its arrays."""

import inspect
import re

import jax

from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Mismatch
from event_ops_harness.conformance.values import values
from ffi_bridge import debug


def invalid_calls(trial: Trial) -> None:
    """Every invalid call is refused when traced, eagerly and under jit, with the documented error.

    So is a flag that is traced, by its name.
    """
    operator = trial.operator
    for name, parameter in inspect.signature(operator.function).parameters.items():
        if isinstance(parameter.default, bool):
            _assert_refused_if_traced(trial, name)
    for wrong in operator.invalid_calls:
        args, kwargs = wrong.make()
        for how, call in (
            ("eagerly", lambda *xs: operator.function(*xs, **kwargs)),  # noqa: B023
            ("under jit", jax.jit(lambda *xs: operator.function(*xs, **kwargs))),  # noqa: B023
        ):
            try:
                call(*args)
            except wrong.error as error:
                if re.search(wrong.match, str(error)):
                    continue
                raise Mismatch(
                    f"invalid call {wrong.name!r} {how}: the error says {error}; expected {wrong.match!r}"
                ) from error
            raise Mismatch(f"invalid call {wrong.name!r} {how}: nothing was raised; expected {wrong.error}")


def _assert_refused_if_traced(trial: Trial, flag: str) -> None:
    try:
        jax.eval_shape(lambda x: trial.f(*trial.args, **{flag: x}), jax.ShapeDtypeStruct((), bool))
    except TypeError as error:
        if str(error).startswith(f"{flag} is "):
            return
        raise Mismatch(f"{flag}, traced: the error says {error}; expected {flag!r} by name") from error
    raise Mismatch(f"{flag}, traced: nothing was raised; expected TypeError")


def bounds(trial: Trial) -> None:
    """No kernel leaves its arrays: values are as before with Numba's checks, and outputs between canaries."""
    with debug.guarded():
        values(trial)
