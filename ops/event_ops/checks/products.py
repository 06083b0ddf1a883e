"""Check the arguments of products with a matrix, in whatever storage, and call their kernels."""

from typing import Any, NamedTuple

import jax
from jax.typing import ArrayLike

from event_ops.checks.arrays import (
    FLOAT_WEIGHTS,
    FLOATS,
    WEIGHTS,
    as_array,
    check_dtype,
    check_factor_dtype,
    check_rank,
    dtype_name,
    summed_in,
)
from event_ops.checks.csr import (
    check_csr,
    check_ell,
    check_event_vector,
    check_events,
    check_operand,
    event_weights,
    matrix_shape,
    places_of,
    readable,
)
from event_ops.checks.keywords import known_flags
from event_ops.checks.packed_entries import check_words, scale_of
from event_ops.checks.procedural import check_prob, procedural_shape, seed_word, weight_parameters
from ffi_bridge import XLACustomKernel


class Factor(NamedTuple):
    """The vector, or with a rank of 2 the matrix, that a matrix is multiplied by.

    Args:
        name: of the argument, for errors.
        value: the argument.
        rank: its number of dimensions.
        are_events: whether bools are taken, and floats that are 0 are silent.
        encoding: how a vector has its events, if there is more than one way.
    """

    name: str
    value: ArrayLike
    rank: int = 1
    are_events: bool = False
    encoding: str | None = None

    def array(self) -> tuple[jax.Array, Any]:
        """Return it as an array, and the dtype that a weight takes which is a number."""
        x = as_array(self.value)
        return x, float if self.are_events and dtype_name(x.dtype) not in FLOATS else x.dtype

    def checked(
        self, x: jax.Array, weights_name: str, weights: jax.Array, shape: tuple[int, int], transpose: bool
    ) -> jax.Array:
        """Return `x`, this as an array, as kernels read it; raise unless it fits the matrix."""
        if self.encoding is not None:
            check_event_vector(self.name, x, weights, shape, transpose, self.encoding, weights_name)
            return readable(x, self.encoding, summed_in(weights))
        check_operand(self.name, x, shape, transpose, rank=self.rank)
        if self.are_events:
            check_events(self.name, x, weights, weights_name)
        else:
            check_factor_dtype(self.name, x, weights_name, weights)
        return x


def csr_product(
    kernel: XLACustomKernel,
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    factor: Factor,
    shape: tuple[int, int],
    transpose: bool,
    deterministic: bool,
    backend: str | None,
    permutation: ArrayLike | None = None,
) -> jax.Array:
    """Return the product of a CSR matrix, whose weights may be found by a permutation."""
    flags = known_flags(transpose=transpose, deterministic=deterministic)
    indices, indptr = as_array(indices), as_array(indptr)
    x, dtype = factor.array()
    weights, shape = event_weights(data, indices, dtype), matrix_shape(shape)
    check_csr(weights, indices, indptr, shape, FLOAT_WEIGHTS if factor.are_events else WEIGHTS)
    x = factor.checked(x, "data", weights, shape, transpose)
    places = places_of(permutation, weights, indices)
    static = {"shape": shape, **flags}
    outs = _outs(x, weights, shape, transpose)
    return kernel(weights, indices, indptr, x, *places, outs=outs, backend=backend, **static)


def ell_product(
    kernel: XLACustomKernel,
    data: ArrayLike,
    indices: ArrayLike,
    factor: Factor,
    shape: tuple[int, int],
    transpose: bool,
    deterministic: bool,
    backend: str | None,
) -> jax.Array:
    """Return the product of an ELLPACK matrix; only events may meet one weight for all entries."""
    flags = known_flags(transpose=transpose, deterministic=deterministic)
    indices = as_array(indices)
    x, dtype = factor.array()
    shape = matrix_shape(shape)
    weights = event_weights(data, indices, dtype) if factor.are_events else as_array(data)
    if not factor.are_events:
        check_rank("data", weights, 2, "(rows, entries per row)")
    check_ell(weights, indices, shape, FLOAT_WEIGHTS if factor.are_events else WEIGHTS)
    x = factor.checked(x, "data", weights, shape, transpose)
    static = {"shape": shape, **flags}
    return kernel(weights, indices, x, outs=_outs(x, weights, shape, transpose), backend=backend, **static)


def dense_product(
    kernel: XLACustomKernel,
    weights: ArrayLike,
    factor: Factor,
    transpose: bool,
    deterministic: bool,
    backend: str | None,
) -> jax.Array:
    """Return the product of a dense matrix with events."""
    flags = known_flags(transpose=transpose, deterministic=deterministic)
    weights, (x, _) = as_array(weights), factor.array()
    check_dtype("weights", weights, FLOAT_WEIGHTS)
    check_rank("weights", weights, 2, "(rows, columns)")
    shape = weights.shape[0], weights.shape[1]
    x = factor.checked(x, "weights", weights, shape, transpose)
    return kernel(weights, x, outs=_outs(x, weights, shape, transpose), backend=backend, **flags)


def compact_product(
    kernel: XLACustomKernel,
    entries: ArrayLike,
    indptr: ArrayLike,
    scale: ArrayLike,
    factor: Factor,
    shape: tuple[int, int],
    transpose: bool,
    backend: str | None,
) -> jax.Array:
    """Return the product of a matrix of words."""
    flags = known_flags(transpose=transpose)
    entries, indptr = as_array(entries), as_array(indptr)
    x, dtype = factor.array()
    scale, shape = scale_of(scale, dtype), matrix_shape(shape)
    check_words(entries, indptr, scale, shape)
    x = factor.checked(x, "scale", scale, shape, transpose)
    static = {"shape": shape, **flags}
    outs = _outs(x, scale, shape, transpose)
    return kernel(entries, indptr, scale, x, outs=outs, backend=backend, **static)


def procedural_product(
    kernel: XLACustomKernel,
    weight: ArrayLike,
    seed: ArrayLike,
    factor: Factor,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    backend: str | None,
) -> jax.Array:
    """Return the product of a matrix that is generated."""
    flags = known_flags(transpose=transpose)
    x, dtype = factor.array()
    parameters, word = weight_parameters(weight, distribution, dtype), seed_word(seed)
    shape, prob = procedural_shape(shape), check_prob(prob)
    x = factor.checked(x, "weight", parameters, shape, transpose)
    static = {"prob": prob, "shape": shape, "distribution": distribution, **flags}
    outs = _outs(x, parameters, shape, transpose)
    return kernel(parameters, word, x, outs=outs, backend=backend, **static)


def _outs(x: jax.Array, weights: jax.Array, shape: tuple[int, int], transpose: bool) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((shape[1] if transpose else shape[0], *x.shape[1:]), summed_in(weights))
