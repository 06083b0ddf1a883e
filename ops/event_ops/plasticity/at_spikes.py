"""`on_pre` and `on_post`: a rule of one synapse, applied to the synapses of the neurons that spiked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.typing import ArrayLike

from event_ops.checks import contracts
from event_ops.checks.arrays import as_array, check_rank
from event_ops.checks.csr import check_structure, check_transpose, matrix_shape
from event_ops.checks.values import contract
from event_ops.plasticity.apply_rule import apply_rule
from event_ops.plasticity.emit import COLUMNS, DENSE_COLUMNS, DENSE_ROWS, ROWS, Storage

Synapses = TypeVar("Synapses", bound=Any)


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def on_pre(
    rule: Callable[..., Any],
    synapses: Synapses,
    indices: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    spikes_pre: ArrayLike | None = None,
    *,
    shape: tuple[int, int] | None = None,
    backend: str | None = None,
    **variables: ArrayLike,
) -> Synapses:
    """`w[i, j] = rule(w[i, j], x_post=x_post[j], ...)` for every i that spikes: any rule, compiled.

    The rule is a function of one synapse, in JAX: `rule(w, *, x_post, A_minus)`, where every argument is a
    scalar. It is the definition, whose derivatives JAX takes; its operations are compiled into a kernel, for
    the CPU or a GPU, that visits the synapses of the neurons that spiked, in place where the old values are
    not needed again, so that the cost follows the number of spikes. Of several synaptic variables, as in
    `w, trace = on_pre(rule, (w, trace), ...)`, the rule returns as many: `return w, trace`.
    All other variables are given by name, and their names say of what they are, as in Brian2: `x_pre` and all
    names that end with `_pre` of presynaptic neurons, those that end with `_post` of postsynaptic ones, any
    other of synapses; a number, or an array without dimensions, is one for all, whatever its name is, such as
    tau_pre or the reward. A rule changes synaptic variables only: those of neurons change by operations on
    their arrays, as by `trace_decay`, before or after.
    Synapses are those of a CSR matrix, or without a structure of a dense one, of which every neuron has a
    synapse with every other: `W = on_pre(rule, W, spikes_pre=spikes, x_post=x_post)`.
    States that decay between visits need no visit: `decaying` makes a rule that advances them when they are
    visited next.
    A float spike is one where it is not 0, and the rule takes its value as `spike_pre`. Derivatives are taken
    at silent neurons, too, as of a change in proportion to this value: what surrogate gradients need.
    Synapses of silent neurons stay as they are, bit for bit, as do entries whose column is not in
    [0, columns). Differentiable in synapses, variables and float spikes, by the derivatives of the rule. A
    synapse whose spike is False hides what is NaN or infinite, a variable or a cotangent, from first
    derivatives; one whose spike is 0. does not, since 0 times NaN is NaN. Each result depends on one synapse
    alone, so that it is the same for any number of threads.

    A rule is traced once, and again when a number or a function that it reads from outside has changed, which
    are constants of it; one that reads what can change in place, such as a dictionary or an object, is traced
    at each call. Rules that compute the same share one kernel, whatever their names are.

    Args:
        rule: a function of scalars: of each synaptic variable by position, of all others by name; returns the
            new value of each synaptic variable. It may use arithmetic, comparisons, `jnp.where`, `jnp.clip`,
            `jnp.exp` and other functions of scalars, and what is made of them in JAX.
        synapses: (nse,), the weights, or a tuple of such arrays; float32 or float64, all of one dtype. Of a
            dense matrix (rows, columns).
        indices: (nse,), the column of each synapse; int32, int64 or unsigned. None: a dense matrix.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        spikes_pre: (rows,); bool, or the dtype of synapses: the rule then takes spike_pre.
        shape: (rows, columns) of the matrix, static; a dense one says it by itself.
        backend: run on this one or not at all; default: choose.
        variables: what the rule takes by name: numbers, or arrays without dimensions; (rows,) for names that
            end with _pre; (columns,) for those that end with _post; as synapses for others. The dtype of
            synapses, or bool.

    Returns:
        synapses: as they were given, an array or a tuple; shapes and dtypes as before.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of synapses; a rule that does not take
            what it is given, or that returns something else than numbers of the dtype.
        ValueError: a shape that does not fit; a rule that returns another number of values, or that does what
            kernels of rules lack: the error names the primitive of JAX, the line, and what to do.

    Source: the form is that of Stimberg, Brette and Goodman (2019), eLife 8, e47314 (`on_pre` of Brian2).
    """
    spikes = _given("on_pre", "spikes_pre", spikes_pre, indices=indices, indptr=indptr)
    if indices is None:
        return _dense(DENSE_ROWS, rule, synapses, spikes, shape, 0, variables, backend)
    indices, indptr = as_array(indices), as_array(indptr)
    shape = matrix_shape(shape)
    check_structure(indices, indptr, shape)
    structure = indices, indptr
    return apply_rule(ROWS, rule, synapses, structure, spikes, indices.shape, shape, 0, variables, backend)


@contract(rows=contracts.rows, indptr=contracts.ends_of("rows"), permutation=contracts.permutation_of("rows"))
def on_post(
    rule: Callable[..., Any],
    synapses: Synapses,
    rows: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    permutation: ArrayLike | None = None,
    spikes_post: ArrayLike | None = None,
    *,
    shape: tuple[int, int] | None = None,
    backend: str | None = None,
    **variables: ArrayLike,
) -> Synapses:
    """`w[i, j] = rule(w[i, j], x_pre=x_pre[i], ...)` for every j that spikes: any rule, compiled.

    The same as `on_pre` for postsynaptic spikes, on the same synapses, in the same order; of a dense matrix
    `W = on_post(rule, W, spikes_post=spikes, x_pre=x_pre)`. The columns of a sparse one are found through the
    structure of the transpose, `rows, indptr, permutation` as `csr_tocsc` gives them, without a copy of the
    synapses. Entries whose row or permutation is out of range are passed over.

    Args:
        rule: a function of scalars, as for `on_pre`.
        synapses: (nse,), ordered by row, or a tuple of such arrays; float32 or float64, all of one dtype. Of
            a dense matrix (rows, columns).
        rows: (nse,), the row of each entry, ordered by column; int32, int64 or unsigned. None: a dense
            matrix.
        indptr: (columns + 1,), non-decreasing: column j is the entries from indptr[j] up to indptr[j + 1].
        permutation: (nse,), where in synapses each of these entries is: each place once; an integer dtype.
        spikes_post: (columns,); bool, or the dtype of synapses: the rule then takes spike_post.
        shape: (rows, columns) of the matrix, static; not of the transpose; a dense one says it by itself.
        backend: run on this one or not at all; default: choose.
        variables: what the rule takes by name, as for `on_pre`.

    Returns:
        synapses: as they were given, an array or a tuple; shapes and dtypes as before.

    Raises:
        TypeError: as `on_pre` does.
        ValueError: as `on_pre` does.

    Source: the form is that of Stimberg, Brette and Goodman (2019), eLife 8, e47314 (`on_post` of Brian2).
    """
    spikes = _given("on_post", "spikes_post", spikes_post, rows=rows, indptr=indptr, permutation=permutation)
    if rows is None:
        return _dense(DENSE_COLUMNS, rule, synapses, spikes, shape, 1, variables, backend)
    rows, indptr, permutation = map(as_array, (rows, indptr, permutation))
    shape = matrix_shape(shape)
    check_transpose(rows, indptr, permutation, shape)
    structure = rows, indptr, permutation
    return apply_rule(COLUMNS, rule, synapses, structure, spikes, rows.shape, shape, 1, variables, backend)


def _given(function: str, name: str, spikes: Any, **structure: Any) -> jax.Array:
    """Return the spikes; raise TypeError unless they are given, and all of a sparse structure or none."""
    missing = [part for part, x in structure.items() if x is None]
    if missing and len(missing) < len(structure):
        raise TypeError(
            f"{function} is given no {' and no '.join(missing)}; expected {', '.join(structure)} of a sparse "
            f"matrix, or none of them for a dense one: {function}(rule, W, {name}=...)"
        )
    if spikes is None:
        raise TypeError(f"{function} is given no {name}; expected one flag per neuron: {name}=...")
    return as_array(spikes, name)


def _dense(
    storage: Storage,
    rule: Callable[..., Any],
    synapses: Any,
    spikes: jax.Array,
    declared_shape: Any,
    axis: int,
    variables: dict[str, Any],
    backend: str | None,
) -> Any:
    W = as_array(synapses[0] if isinstance(synapses, tuple) and synapses else synapses, "synapses")
    check_rank("synapses", W, 2, "(presynaptic, postsynaptic) neurons, where no sparse structure is given")
    shape = W.shape[0], W.shape[1]
    if declared_shape is not None and tuple(declared_shape) != shape:
        raise ValueError(f"shape is {declared_shape}; expected {shape}, as the synapses have it, or no shape")
    return apply_rule(storage, rule, synapses, (), spikes, shape, shape, axis, variables, backend)
