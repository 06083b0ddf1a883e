"""Check inputs: invalid calls are refused as documented, and no kernel leaves its arrays."""

import re

import jax

from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Mismatch
from event_ops_harness.conformance.values import values
from ffi_bridge import debug


def invalid_calls(trial: Trial) -> None:
    """Every invalid call is refused when traced, eagerly and under jit, with the documented error."""
    operator = trial.operator
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


def bounds(trial: Trial) -> None:
    """No kernel leaves its arrays: values are as before with Numba's checks, and outputs between canaries."""
    with debug.guarded():
        values(trial)
