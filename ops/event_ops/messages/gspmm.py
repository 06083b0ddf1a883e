"""`gspmm` and `gsddmm`: messages along the edges of a graph, without an array of edges times features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array
from event_ops.checks.inputs import is_number
from event_ops.codegen.function import Traced
from event_ops.messages.derivatives import cotangents, tangents
from event_ops.messages.operands import operands_of
from event_ops.messages.passes import ENTRY, NO_MESH, ROW, SUBJECT, SWAPPED, Pass, Result, call, kernel
from event_ops.messages.structure import structure_of
from event_ops.sparse.sharded import ShardedCSR

REDUCTIONS = ("sum", "mean", "max", "min", "mul")


def gspmm(
    message: Callable[..., Any],
    A: Any,
    *,
    reduce: str = "sum",
    backend: str | None = None,
    **variables: ArrayLike,
) -> jax.Array:
    """`y[i] = reduce(message(A[i, j], x_src[j], x_dst[i], ...) for every entry (i, j) of row i)`.

    An entry of A is an edge from its column, the source, to its row, the destination: so
    `gspmm(lambda weight, x_src: weight * x_src, A, x_src=x)` is `A @ x`, and messages go from j to i where
    A[i, j] is stored. `A.T` sends them the other way.
    The message is a function of scalars in JAX, of one edge and one feature. It is the definition, whose
    derivatives JAX takes; kernels that are made of it visit edges, and combine messages at nodes as they
    come, so that no array of edges times features is made, neither by the product nor by its first
    derivatives: memory is in proportion to nodes times features, and edges. The reference alone makes some.
    The names of its parameters say where values are read: those that end with _src at the column, those that
    end with _dst at the row, all others at the edge; `weight` is that of the entry, A.data, unless given.
    Numbers, and arrays without dimensions, are one for all. Features are further axes, which broadcast as in
    NumPy: x of shape (n, 8, 16) and weights of shape (nse, 8, 1) make messages of 8 x 16 features.

    Differentiable in the weights of A and in all variables; derivatives sum in a fixed order. That of a
    source needs the entries by column: `A.plan(weights=False)` stores them once, otherwise each derivative
    sorts. Entries that share a maximum or minimum share its cotangent evenly, as in JAX; a product has exact
    derivatives also where messages are 0 or infinite, as JAX has them, and NaN where the product of all
    messages, each brought near 1 by a power of two, leaves the range. `jax.vmap` over features reads the
    edges once for the whole batch.

    Args:
        message: a function of scalars: all that it reads, by name; returns a number. It may use arithmetic,
            comparisons, `jnp.where`, `jnp.exp`, `jax.nn.relu` and other functions of scalars, and what is
            made of them in JAX; and loops of a known number of turns, which are written out in derivatives,
            of at most 4096 operations.
        A: a `CSR`, `ELL`, `CompactCSR` or `ShardedCSR`, or a dense matrix (rows, columns), of which each
            element is an edge, zeros too. Free slots and entries whose column is out of range send nothing.
            Of a `ShardedCSR`, sources are whole, (columns, ...), all else is in blocks, and so is the result.
        reduce: "sum", "mean", "max", "min" or "mul". A row without entries is 0, as in DGL, also of "max" and
            "min", which with a NaN among its messages is NaN; the product of none is 1.
        backend: run on this one or not at all; default: choose.
        variables: what the message takes by name: numbers; (columns, ...) for names that end with _src;
            (rows, ...) for those that end with _dst; for others an entry each, in the order and shape of
            A.data, (nse, ...), of an ELL (rows, per_row, ...). float32 or float64, all of one dtype, or bool;
            float16 or bfloat16, in which nothing is summed, but in float32. A number takes the dtype of the
            arrays; where there are none, one of NumPy has its own.

    Returns:
        y: (rows, ...), the features as they broadcast; dtype of the variables.

    Raises:
        TypeError: a matrix or a dtype that is not taken; a message that does not take what it is given, or
            returns no number of the dtype.
        ValueError: an unknown reduction, a shape that does not fit, or a message that does what kernels lack,
            which the error names with its line.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from event_ops import CSR, gspmm
        >>> A = CSR.from_dense(jnp.array([[0.0, 2.0], [1.0, 3.0]]))
        >>> x = jnp.array([1.0, 5.0])
        >>> gspmm(lambda weight, x_src, x_dst: weight * jax.nn.relu(x_src - x_dst), A, x_src=x, x_dst=x)
        Array([8., 0.], dtype=float32)
        >>> gspmm(lambda x_src: x_src, A, x_src=x, reduce="mean")
        Array([5., 3.], dtype=float32)

    Source: Wang et al. (2019), Deep Graph Library, arXiv:1909.01315: generalized SpMM (`dgl.ops.gspmm`).
    """
    _check_choice("reduce", reduce, REDUCTIONS)
    if isinstance(A, ShardedCSR):
        return _sharded(partial(gspmm, message, reduce=reduce, backend=backend), A, variables)
    edges = structure_of(A)
    operands = operands_of(message, variables, edges.weight, edges.grid, edges.shape)
    arrays, count = edges.by_row()
    of = Pass(
        operands.message,
        operands.axes,
        (Result(ROW, (True,) * len(operands.sizes)),),
        operands.sizes,
        "sum" if reduce == "mean" else reduce,
        edges.shape,
        count,
        # Derivatives find a maximum by comparing: a message has to come out the same again.
        exact=reduce in ("max", "min"),
    )
    dtype = operands.message.jaxpr.out_avals[0].dtype
    (y,) = call(of, arrays, operands.arrays, backend, dtype)
    if reduce == "mean":
        y = y / jnp.maximum(_degrees(of, arrays, backend, dtype), 1)
    return y.reshape(edges.shape[0], *operands.features).astype(operands.dtype)


def gsddmm(
    message: Callable[..., Any],
    A: Any,
    *,
    reduce: str | None = None,
    backend: str | None = None,
    **variables: ArrayLike,
) -> jax.Array:
    """`z[k] = message(A[i, j], x_src[j], x_dst[i], ...)` for every entry k, which is at (i, j).

    What `gspmm` reduces at rows is kept at entries here, in the order of A.data: scores of edges, such as
    those of an attention, which go into a `gspmm` by a name of their own. With reduce="sum" the last axis of
    features is summed as messages are made, so that the scalar product of two nodes' features,
    `gsddmm(lambda q_dst, k_src: q_dst * k_src, A, q_dst=q, k_src=k, reduce="sum")`, has no array of edges
    times features.

    Args:
        message: a function of scalars, as for `gspmm`.
        A: the graph, as for `gspmm`.
        reduce: None, or "sum": over the last axis of features.
        backend: run on this one or not at all; default: choose.
        variables: what the message takes by name, as for `gspmm`.

    Returns:
        z: (nse, ...), of an ELL (rows, per_row, ...), of a dense matrix (rows, columns, ...): the features as
            they broadcast, with reduce="sum" without the last axis; 0 at free slots and entries out of range.

    Raises:
        TypeError: as `gspmm` does.
        ValueError: as `gspmm` does; reduce="sum" of messages without features.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import CSR, gsddmm
        >>> A = CSR.from_dense(jnp.array([[0.0, 2.0], [1.0, 3.0]]))
        >>> x = jnp.array([[1.0, 2.0], [5.0, 6.0]])
        >>> gsddmm(lambda x_src, x_dst: x_src * x_dst, A, x_src=x, x_dst=x, reduce="sum")
        Array([17., 17., 61.], dtype=float32)

    Source: Wang et al. (2019), Deep Graph Library, arXiv:1909.01315: generalized SDDMM (`dgl.ops.gsddmm`).
    """
    _check_choice("reduce", reduce, (None, "sum"))
    if isinstance(A, ShardedCSR):
        return _sharded(partial(gsddmm, message, reduce=reduce, backend=backend), A, variables)
    edges = structure_of(A)
    operands = operands_of(message, variables, edges.weight, edges.grid, edges.shape)
    if reduce and not operands.features:
        raise ValueError(
            "reduce is 'sum', and messages have no features; expected an axis to sum over, or reduce=None"
        )
    axes = operands.summed if reduce else (True,) * len(operands.sizes)
    of_edge = operands.message
    if edges.transposed:  # rows are columns of the matrix as it is stored
        of_edge = replace(of_edge, places=tuple(SWAPPED[x] for x in of_edge.places))
    of = Pass(
        of_edge,
        operands.axes,
        (Result(ENTRY, axes),),
        operands.sizes,
        "sum",
        edges.stored_shape,
        (2, len(edges.columns)),
    )
    dtype = operands.message.jaxpr.out_avals[0].dtype
    (z,) = call(of, edges.rows + edges.columns, operands.arrays, backend, dtype)
    features = operands.features[:-1] if reduce else operands.features
    return z.reshape(*edges.grid, *features).astype(operands.dtype)


def _check_choice(name: str, value: Any, expected: Sequence[Any]) -> None:
    if value not in expected:
        raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, expected))}")


def _degrees(of: Pass, arrays: tuple[Any, ...], backend: str | None, dtype: Any) -> jax.Array:
    """Return how many entries of each row send something."""

    def one() -> jax.Array:
        return jnp.ones((), dtype)

    with jax.sharding.use_abstract_mesh(NO_MESH):
        count = Traced.of(one, (), (), (), SUBJECT, results=[dtype])
    counting = replace(of, message=count, axes=(), sizes=(), results=(Result(ROW, ()),))
    (degrees,) = call(counting, arrays, (), backend, dtype)
    return degrees


def _sharded(product: Callable[..., jax.Array], A: ShardedCSR, variables: dict[str, Any]) -> jax.Array:
    """Return blocks of the product, one for each shard of A; sources are whole on every device."""
    numbers = {name: x for name, x in variables.items() if is_number(x)}  # of which the arrays say the dtype
    arrays = {name: as_array(x, name) for name, x in variables.items() if name not in numbers}
    specs = {name: P(A.axis) if x.ndim and not name.endswith("_src") else P() for name, x in arrays.items()}

    def part(A: ShardedCSR, blocks: dict[str, Any]) -> jax.Array:
        shard = {name: x[0] if specs[name] == P(A.axis) else x for name, x in blocks.items()}
        return product(A.local(), **numbers, **shard)[None]

    run = jax.shard_map(part, mesh=A.mesh, in_specs=(P(A.axis), specs), out_specs=P(A.axis))
    return run(A, arrays)


kernel.def_jvp_rule(tangents)
kernel.def_transpose_rule(cotangents)
