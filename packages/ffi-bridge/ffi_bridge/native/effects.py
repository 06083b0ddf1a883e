"""The side effects that JAX knows of a call, for which it keeps the call if nobody reads its results."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import numpy as np


@cache
def of_a_call() -> Any:
    """Return the effects of a foreign call with side effects, for which JAX keeps it if nobody reads it."""
    nothing = jax.ShapeDtypeStruct((), np.float32)
    call = jax.ffi.ffi_call("with_side_effects", nothing, has_side_effect=True)
    return jax.make_jaxpr(call)().effects
