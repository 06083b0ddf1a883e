"""Wrong calls and definitions of a kernel `combine(x, factor, n, y, ...)`, which every toolchain refuses.

`factor` is a number, `n` a constant without a default.
"""

import jax.numpy as jnp
import pytest

X = jnp.arange(3.0)

each_call = pytest.mark.parametrize(
    ("args", "named", "text"),
    [
        ((X, 1.0), {}, "the call has no n, which is in static_argnames and has no default"),
        ((X, X), {"n": 1}, "'factor' is in scalar_argnames and has 1 dimensions"),
        ((X,), {"n": 1, "wrong": X}, "got 1 inputs by position and wrong by name; expected its first"),
        ((X, 1.0), {"n": 1, "x": X}, "got 2 inputs by position and x by name"),
        ((X, 1.0, 2.0), {"n": 1}, "takes 3 arguments .*, but the call has 3 inputs .* in static_argnames"),
    ],
)
each_definition = pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"static_argnames": "k"},
            "static_argnames has 'k'; expected parameters of kernel 'combine': x, factor",
        ),
        ({"scalar_argnames": ["k"]}, "scalar_argnames has 'k'"),
        ({"static_argnames": "n", "scalar_argnames": "n"}, "n is in static_argnames and in scalar_argnames"),
    ],
)
