"""`jax.vmap` of `numba_kernel`: every method, inputs with and without the axis, up to three levels deep."""

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from misuse import Misuse

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelTypeError

METHODS = (None, "sequential", "expand_dims", "broadcast_all")
IN_AXES = ((0, 0), (0, None), (None, 0), (1, 0), (None, -1))
SIZES = (4, 2, 5)  # of the levels, the innermost first
INNER = (3,)


@numba.njit
def product(x, s, out):
    out[...] = x * s


@numba.njit
def product_of_vectors(x, s, out):
    (n,) = out.shape
    for i in range(n):
        out[i] = x[i] * s[i]


def _mapped(f: Callable[..., Any], axes: Any, depth: int) -> Callable[..., Any]:
    return reduce(lambda g, _: jax.vmap(g, in_axes=axes), range(depth), f)


def _array(axis: int | None, depth: int, seed: int) -> np.ndarray[Any, Any]:
    """With an axis for every level where vmap will look for it."""
    shape = INNER
    for size in SIZES[:depth] if axis is not None else ():
        place = axis if axis >= 0 else len(shape) + 1 + axis
        shape = (*shape[:place], size, *shape[place:])
    return np.random.default_rng(seed).uniform(1, 2, shape).astype("f")


def _product(x: Any, s: Any, axes: Any, depth: int) -> Any:
    """x * s for each element of the outermost level, and so on."""
    if depth == 0:
        return x * s
    elements = range(SIZES[depth - 1])
    pairs = [[v if a is None else v.take(i, a) for v, a in zip((x, s), axes, strict=True)] for i in elements]
    return np.stack([_product(*pair, axes, depth - 1) for pair in pairs])


def _is_right(kernel: Any, method: str | None, axes: Any, depth: int) -> Callable[[], None]:
    def act() -> None:
        x, s = (_array(axis, depth, i) for i, axis in enumerate(axes))
        f = numba_kernel(kernel, jax.ShapeDtypeStruct(INNER, jnp.float32), vmap_method=method)
        expected = _product(x, s, axes, depth)
        for run in (_mapped(f, axes, depth), jax.jit(_mapped(f, axes, depth))):
            np.testing.assert_allclose(run(x, s), expected, rtol=1e-6, strict=True)

    return act


def _mixed(method: str | None) -> Callable[[], None]:
    """A level that only x has inside one that only s has, and the other way round."""

    def act() -> None:
        f = numba_kernel(product, jax.ShapeDtypeStruct(INNER, jnp.float32), vmap_method=method)
        x, s = (_array(0, 1, i) for i in range(2))
        for first, then in itertools.permutations([(0, None), (None, 0)]):
            run, expected = (jax.vmap(jax.vmap(g, first), then) for g in (f, jnp.multiply))
            np.testing.assert_allclose(jax.jit(run)(x, s), expected(x, s), rtol=1e-6)

    return act


def _empty(method: str | None) -> Callable[[], None]:
    def act() -> None:
        f = numba_kernel(product, jax.ShapeDtypeStruct(INNER, jnp.float32), vmap_method=method)
        assert jax.vmap(f)(np.ones((0, 3), "f"), np.ones((0, 3), "f")).shape == (0, 3)

    return act


def _refused(
    x: Any, s: Any, axes: Any, *, kernel: Any = product, method: str | None = None, out_axes: Any = 0
) -> Callable[[], object]:
    def act() -> object:
        f = numba_kernel(kernel, jax.ShapeDtypeStruct(INNER, jnp.float32), vmap_method=method)
        return jax.vmap(f, in_axes=axes, out_axes=out_axes)(x, s)

    return act


ONE, MANY = np.ones(3, "f"), np.ones((4, 3), "f")

CASES = (
    *(
        Misuse(
            f"method {method}, axes {axes}, {depth} deep",
            _is_right(product, method, axes, depth),
            error=None,
            slow=depth != 2 or axes != (1, 0) or method == "expand_dims",
        )
        for method in METHODS
        for axes in IN_AXES
        for depth in (1, 2, 3)
    ),
    *(
        Misuse(
            f"a kernel of vectors alone, method {method}, axes {axes}",
            _is_right(product_of_vectors, method, axes, 2),
            error=None,
            slow=method is not None or axes != (None, -1),
        )
        for method in (None, "sequential")
        for axes in IN_AXES
    ),
    *(
        Misuse(
            f"a kernel of vectors alone, method {method}",
            _refused(MANY, MANY, 0, method=method, kernel=product_of_vectors),
            "'product_of_vectors' does not compile for",
            KernelTypeError,
        )
        for method in ("expand_dims", "broadcast_all")
    ),
    *(
        Misuse(f"levels of their own, method {method}", _mixed(method), error=None, slow=method is not None)
        for method in METHODS
    ),
    *(
        Misuse(f"no elements, method {method}", _empty(method), error=None, slow=method is not None)
        for method in METHODS
    ),
    Misuse("sizes that differ", _refused(MANY, np.ones((5, 3), "f"), 0), "inconsistent sizes", ValueError),
    Misuse("an axis that is not there", _refused(MANY, MANY, 2), "axis|dimension", ValueError),
    Misuse("no axis at all", _refused(ONE, ONE, None), "at least one", ValueError),
    Misuse("axes for other inputs", _refused(MANY, MANY, (0,)), "in_axes", ValueError),
    Misuse("an output without the axis", _refused(MANY, MANY, 0, out_axes=None), "out_axes", ValueError),
)
