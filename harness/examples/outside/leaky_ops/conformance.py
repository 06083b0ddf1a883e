"""List cases and wrong calls of `leaky_sum`, for the conformance suite and the benchmark."""

from typing import Any

import numpy as np

from event_ops_harness.conformance import Case, InvalidCall, Operator
from leaky_ops.leaky_sum import kernel, leaky_sum


def sized(size: int) -> Any:
    """Return the maker of inputs of `size` steps: `(rng, dtype, index_dtype) -> (args, kwargs)`."""

    def make(
        rng: np.random.Generator, dtype: str, index_dtype: str
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (rng.normal(size=size).astype(dtype), np.asarray(0.9, dtype)), {}

    return make


CASES = (
    Case("random", sized(13), differentiable=(0, 1)),  # in x and decay
    Case("empty", sized(0), differentiable=(0, 1)),
    Case("100000", sized(100_000), tags=frozenset({"benchmark"})),
)
INVALID_CALLS = (
    InvalidCall("integers", lambda: ((np.arange(3), 0.9), {}), TypeError, "expected a vector of float32"),
    InvalidCall(
        "matrix", lambda: ((np.ones((2, 3), "f"), 0.9), {}), TypeError, "expected a vector of float32"
    ),
)
OPERATORS = (Operator("leaky_sum", leaky_sum, kernel, ("float32", "float64"), CASES, INVALID_CALLS),)
