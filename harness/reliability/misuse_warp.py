"""Misuse of `warp_kernel` on the CPU: wrong numbers, ranks, dtypes, launches and outputs."""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from misuse import Misuse, called

from ffi_bridge import warp_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

wp.config.quiet = True
EIGHT: Final = jax.ShapeDtypeStruct((8,), jnp.float32)
X, I = np.ones(8, "f"), np.zeros(8, "i")


@wp.kernel
def product(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = x[i] * y[i]


@wp.kernel(enable_backward=False)
def scaled(x: wp.array(dtype=wp.float32), factor: wp.float32, out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = x[i] * factor


@wp.kernel(module="unique")  # one that does not compile takes its whole module with it
def broken(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    out[0] = no_such_name(x)  # noqa: F821


def _define(kernel: Any = product, outs: Any = EIGHT, **options: Any) -> Callable[[], object]:
    return lambda: warp_kernel(kernel, outs, **options)


def _call(kernel: Any, *ins: Any, outs: Any = EIGHT, **options: Any) -> Callable[[], object]:
    return called(lambda: warp_kernel(kernel, outs, **options), *ins)


def _vmapped(axes: Any, depth: int) -> Callable[[], None]:
    def act() -> None:
        f, g = warp_kernel(product, EIGHT), jnp.multiply
        shape = (*(2, 3)[:depth], 8)
        ins = [np.full(shape if axis == 0 else (8,), 2, "f") for axis in axes]
        for _ in range(depth):
            f, g = jax.vmap(f, in_axes=axes), jax.vmap(g, in_axes=axes)
        np.testing.assert_array_equal(jax.jit(f)(*ins), g(*ins))

    return act


CALLS = {
    "one input": ((product, X), "takes 2 inputs"),
    "three inputs": ((product, X, X, X), "takes 2 inputs"),
    "no inputs": ((product,), "takes 2 inputs"),
    "another dtype": ((product, X, I), "'y' is int32"),
    "float16": ((product, X, X.astype("e")), "'y' is float16"),
    "bool": ((product, X, X > 0), "'y' is bool"),
    "complex": ((product, X, X.astype("F")), "complex64"),
    "a row too many": ((product, X, X[None]), "'y' is float32"),
    "a traced number": ((scaled, X, jnp.ones(3)), "'factor'"),
    "a text for a number": ((scaled, X, "text"), "'factor'"),
    "a name that is not there": ((broken, X), "'broken' does not compile.*no_such_name"),
}
OUTS = {
    "of another dtype": (jax.ShapeDtypeStruct((8,), jnp.int32), "'out' is int32", KernelTypeError),
    "of another rank": (jax.ShapeDtypeStruct((8, 2), jnp.float32), "'out' is float32", KernelTypeError),
    "too many": ([EIGHT] * 4, "do not fit", KernelDefinitionError),
    "None": (None, "outs is empty", KernelDefinitionError),
    "a number": (3, "ShapeDtypeStruct", KernelDefinitionError),
    "float64": (jax.ShapeDtypeStruct((8,), np.float64), "jax_enable_x64", KernelDefinitionError),
    "negative": (jax.ShapeDtypeStruct((-8,), jnp.float32), "outs", KernelDefinitionError),
}
OPTIONS = {
    "in-out that is no input": ({"in_out_argnames": ["z"]}, "an in-out name is an input"),
    "in-out twice": ({"in_out_argnames": ["x", "x"]}, "an in-out name is an input"),
    "five launch dimensions": ({"launch_dims": (1, 2, 3, 4, 5)}, "one to four integers"),
    "no launch dimension": ({"launch_dims": ()}, "one to four integers"),
    "negative launch": ({"launch_dims": -1}, "integers >= 0"),
    "fractional launch": ({"launch_dims": 2.5}, "integers"),
    "launch that is a text": ({"launch_dims": "8"}, "integers"),
    "no threads": ({"block_dim": 0}, "block_dim=0"),
    "negative threads": ({"block_dim": -4}, "block_dim=-4"),
    "half a thread": ({"block_dim": 1.5}, "block_dim=1.5"),
    "more threads than a block has": ({"block_dim": 2048}, "a block of"),
    "unknown vmap_method": ({"vmap_method": "legacy"}, "choose one of None, 'sequential'"),
}

CASES = (
    *(Misuse(f"call: {name}", _call(*call), match, KernelTypeError) for name, (call, match) in CALLS.items()),
    *(
        Misuse(f"outs: {name}", _call(product, X, X, outs=outs), match, error)
        for name, (outs, match, error) in OUTS.items()
    ),
    *(
        Misuse(f"option: {name}", _define(**options), match, KernelDefinitionError)
        for name, (options, match) in OPTIONS.items()
    ),
    *(
        Misuse(f"no kernel: {kernel!r}", _define(kernel), r"@warp\.kernel", TypeError)
        for kernel in (len, None, 3)
    ),
    *(
        Misuse(f"vmap: axes {axes}, {depth} deep", _vmapped(axes, depth), error=None)
        for axes in ((0, 0), (0, None), (None, 0))
        for depth in (1, 2)
    ),
    Misuse(
        "a derivative",
        lambda: jax.jvp(lambda x: warp_kernel(product, EIGHT)(x, x), (X,), (X,)),
        "differentiable=True",
        MissingRuleError,
    ),
)
