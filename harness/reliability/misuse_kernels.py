"""Misuse of `numba_kernel`: what is no kernel, wrong outs, wrong options, kernels that cannot be."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from misuse import Misuse, called

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

OUT = jax.ShapeDtypeStruct((3,), jnp.float32)
X = np.ones(3, "f")
SCALE = 2.0


@numba.njit
def copy(x, out):
    for i in range(out.size):
        out[i] = x[i]


@numba.njit
def writes_input(x, out):
    x[0] = 1
    out[0] = x[0]


@numba.njit
def stores(x, out):
    out[0] = 1


@numba.njit
def typo(x, out):
    out[0] = x.lenght


@numba.njit
def unknown_name(x, out):
    out[0] = nobody_defined_this(x)  # noqa: F821


@numba.njit
def returns(x, out):
    return x[0]


@numba.njit
def yields(x, out):
    yield x[0]


@numba.njit
def star(*arrays):
    arrays[-1][0] = 1


@numba.njit
def keyword_only(x, *, out):
    out[0] = x[0]


@numba.njit
def unpacks_one_extent(x, out):
    (n,) = x.shape
    out[0] = x[n - 1]


@numba.njit
def stores_text(x, out):
    out[0] = "text"


@numba.njit("void(float64[::1], float64[::1])")
def for_float64(x, out):
    out[:] = x


@numba.jit(forceobj=True)
def object_mode(x, out):
    out[0] = x[0]


@numba.vectorize
def universal(x):
    return x


def plain(x: Any, out: Any) -> None:
    out[0] = x[0] * SCALE


def _define(kernel: Any = copy, outs: Any = OUT, **options: Any) -> Callable[[], object]:
    return lambda: numba_kernel(kernel, outs, **options)


def _call(kernel: Any, *ins: Any, outs: Any = OUT, **options: Any) -> Callable[[], object]:
    return called(lambda: numba_kernel(kernel, outs, **options), *ins)


def _of(shape: Any, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


NO_KERNELS = {
    "a function": plain,
    "nothing": None,
    "a number": 3,
    "a text": "copy",
    "a class": dict,
    "a ufunc": universal,
    "a partial": functools.partial(plain),
    "object mode": object_mode,
}
OUTS = {
    "None": (None, "outs is empty"),
    "empty list": ([], "outs is empty"),
    "empty dict": ({}, "outs is empty"),
    "a shape": ((3,), "ShapeDtypeStruct"),
    "a text": ("float32", "ShapeDtypeStruct"),
    "a dtype": (np.dtype("f"), "shape|ShapeDtypeStruct"),
    "float64": (_of((3,), np.float64), "jax_enable_x64"),
    "int64": (_of((3,), np.int64), "jax_enable_x64"),
    "complex128": (_of((3,), np.complex128), "jax_enable_x64"),
    "negative extent": (_of((-1,)), "outs"),
    "fractional extent": (_of((2.5,)), "outs"),
    "text as an extent": (_of(("n",)), "outs"),
    "more bytes than there are addresses": (_of((2**62,)), "outs"),
}
OPTIONS = {
    "unknown vmap_method": ({"vmap_method": "parallel"}, "vmap_method='parallel'"),
    "vmap_method of another type": ({"vmap_method": 3}, "vmap_method=3"),
    "alias of no output": ({"input_output_aliases": {0: 1}}, "input_output_aliases"),
    "alias of a negative input": ({"input_output_aliases": {-1: 0}}, "input_output_aliases"),
    "alias of a negative output": ({"input_output_aliases": {0: -1}}, "input_output_aliases"),
    "alias by name": ({"input_output_aliases": {"x": 0}}, "expected input indices"),
    "alias of a fraction": ({"input_output_aliases": {0: 0.5}}, "expected input indices"),
    "aliases that are no mapping": ({"input_output_aliases": 1}, "expected input indices"),
    "two aliases of an output": ({"input_output_aliases": {0: 0, 1: 0}}, "input_output_aliases"),
}
CANNOT_BE = {
    "writes into its input": (writes_input, X, "writes into its input 'x'"),
    "an attribute that is not there": (typo, X, "lenght"),
    "a name that is not there": (unknown_name, X, "nobody_defined_this"),
    "returns a value": (returns, X, "'returns' returns float32"),
    "is a generator": (yields, X, "'yields' returns"),
    "variable arguments": (star, X, r"\*arrays"),
    "keyword-only argument": (keyword_only, X, "out"),
    "rank 0 for a vector": (copy, np.float32(1), "'copy' does not compile for"),
    "a number for a vector": (copy, 1.5, "'copy' does not compile for"),
    "rank 2 for a vector": (unpacks_one_extent, np.ones((3, 3), "f"), "does not compile for"),
    "stores what does not fit": (stores_text, X, "does not compile for"),
}


def _other_signature() -> None:
    """The types of a call are those of its arrays: the kernel is compiled anew."""
    np.testing.assert_array_equal(numba_kernel(for_float64, OUT)(X), [1, 1, 1])


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: jax.grad(lambda x: f(x).sum())(X),
    "jvp": lambda f: jax.jvp(f, (X,), (X,)),
    "vjp": lambda f: jax.vjp(f, X),
    "jacfwd": lambda f: jax.jacfwd(f)(X),
    "jacrev": lambda f: jax.jacrev(f)(X),
    "hessian": lambda f: jax.hessian(lambda x: f(x).sum())(X),
    "grad of vmap": lambda f: jax.grad(lambda x: jax.vmap(f)(x).sum())(np.ones((2, 3), "f")),
    "grad of scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0].sum()
    )(X),
}

CASES = (
    *(Misuse(f"no kernel: {name}", _define(x), r"@numba\.njit", TypeError) for name, x in NO_KERNELS.items()),
    *(
        Misuse(f"outs: {name}", _call(copy, X, outs=outs), match, KernelDefinitionError)
        for name, (outs, match) in OUTS.items()
    ),
    *(
        Misuse(f"option: {name}", _define(**options), match, KernelDefinitionError)
        for name, (options, match) in OPTIONS.items()
    ),
    *(
        Misuse(f"kernel: {name}", _call(kernel, x), match, KernelTypeError)
        for name, (kernel, x, match) in CANNOT_BE.items()
    ),
    *(
        Misuse(
            f"derivative: {name}",
            lambda f=f: f(numba_kernel(copy, OUT)),
            "'copy'.*custom_jvp",
            MissingRuleError,
        )
        for name, f in DERIVATIVES.items()
    ),
    Misuse("a signature of other types", _other_signature, error=None),
    Misuse("more memory than there is", _call(stores, X, outs=_of((2**45,))), "memory|allocat", Exception),
)
