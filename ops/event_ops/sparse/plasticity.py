"""Plasticity of a sparse matrix, by pairs of spikes or any rule, and normalised weights of its neurons."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.typing import ArrayLike

from event_ops.catalog.csr_normalize.op import csr_normalize
from event_ops.catalog.stdp_on_post.op import of_synapse as potentiated
from event_ops.catalog.stdp_on_pre.op import of_synapse as depressed
from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_shape
from event_ops.checks.keywords import known_integer
from event_ops.kernels.reference.plasticity import check_trace, rate_and_bounds
from event_ops.plasticity.apply_rule import apply_rule
from event_ops.plasticity.emit import COLUMNS, ROWS
from event_ops.sparse.products import matrix_structure

Matrix = TypeVar("Matrix", bound=Any)


def stdp_on_pre(
    A: Matrix,
    spikes_pre: ArrayLike,
    x_post: ArrayLike,
    *,
    A_minus: ArrayLike,
    w_min: ArrayLike,
    w_max: ArrayLike,
    backend: str | None = None,
) -> Matrix:
    """`A[i, j] = clip(A[i, j] - A_minus * x_post[j], w_min, w_max)` for every row i that spikes.

    Changes `data` as the operator `stdp_on_pre` does, in place if it is not needed again; structure and plan
    stay. A plan that stores weights is updated in a pass over all entries; one that `plan(weights=False)`
    made has none to update. A transposed matrix must have a plan.

    Args:
        spikes_pre: (rows,); bool, or the dtype of the weights.
        x_post: (columns,), the postsynaptic traces; dtype of the weights.
        A_minus, w_min, w_max: numbers, 0-d or one for each weight, as `data` is; as in the operator.
        backend: run on this one or not at all; default: choose.

    Raises:
        TypeError: a dtype that is not supported, or that differs from the dtype of the weights.
        ValueError: one weight for all entries, a shape that does not fit, no plan where one is needed, or
            A_minus < 0 or w_min > w_max where their values are known when traced.
    """
    named = _stdp_variables(A, 1, {"x_post": x_post, "A_minus": A_minus, "w_min": w_min, "w_max": w_max})
    return on_pre(A, depressed, spikes_pre, backend=backend, **named)


def stdp_on_post(
    A: Matrix,
    spikes_post: ArrayLike,
    x_pre: ArrayLike,
    *,
    A_plus: ArrayLike,
    w_min: ArrayLike,
    w_max: ArrayLike,
    backend: str | None = None,
) -> Matrix:
    """`A[i, j] = clip(A[i, j] + A_plus * x_pre[i], w_min, w_max)` for every column j that spikes.

    Changes `data` as the operator `stdp_on_post` does. The matrix must have a plan unless it is
    transposed: `A = A.plan(weights=False)` in front of the loop. All else is as in `stdp_on_pre`.

    Args:
        spikes_post: (columns,); bool, or the dtype of the weights.
        x_pre: (rows,), the presynaptic traces; dtype of the weights.
        A_plus, w_min, w_max: numbers, 0-d or one for each weight, as `data` is; as in the operator.
        backend: run on this one or not at all; default: choose.

    Raises:
        TypeError, ValueError: as `stdp_on_pre` does.
    """
    named = _stdp_variables(A, 0, {"x_pre": x_pre, "A_plus": A_plus, "w_min": w_min, "w_max": w_max})
    return on_post(A, potentiated, spikes_post, backend=backend, **named)


def _stdp_variables(A: Any, axis: int, named: dict[str, Any]) -> dict[str, Any]:
    """Return the trace along an axis, the rate and the bounds of STDP, checked, by name and in this order."""
    (trace, x), (rate, value), (_, low), (_, high) = named.items()
    checked = rate_and_bounds(_each_weight(A), rate, value, low, high)
    x = as_array(x)
    check_trace(trace, x, A.data, A.shape[axis], f"{('row', 'column')[axis]} of shape={A.shape}")
    return dict(zip(named, (x, *checked), strict=True))


def on_pre(
    A: Any,
    rule: Callable[..., Any],
    spikes_pre: ArrayLike,
    *,
    state: tuple[jax.Array, ...] = (),
    backend: str | None = None,
    **variables: ArrayLike,
) -> Any:
    """`A[i, j] = rule(A[i, j], x_post=x_post[j], ...)` for every row i that spikes: any rule.

    Changes `data` as `event_ops.plasticity.on_pre` does, which says what a rule is; in place, and with a plan
    and the need of one, as `stdp_on_pre` does.

    Args:
        rule: a function of scalars: of the weight and of each variable of `state` by position, of all others
            by name; returns the new value of each of the former.
        spikes_pre: (rows,); bool, or the dtype of the weights: the rule then takes spike_pre.
        state: further synaptic variables, each as `data` is.
        backend: run on this one or not at all; default: choose.
        variables: what the rule takes by name: numbers, or arrays without dimensions; (rows,) for names that
            end with _pre; (columns,) for those that end with _post; as `data` for others. The dtype of the
            weights, or bool.

    Returns:
        The matrix; if there is a state, a tuple of the matrix and the state.

    Raises:
        TypeError: as `event_ops.plasticity.on_pre` does.
        ValueError: as it does; also one weight for all entries, or no plan where one is needed.
    """
    return _after_rule(A, 0, rule, spikes_pre, state, variables, backend)


def on_post(
    A: Any,
    rule: Callable[..., Any],
    spikes_post: ArrayLike,
    *,
    state: tuple[jax.Array, ...] = (),
    backend: str | None = None,
    **variables: ArrayLike,
) -> Any:
    """`A[i, j] = rule(A[i, j], x_pre=x_pre[i], ...)` for every column j that spikes: any rule.

    The matrix must have a plan unless it is transposed: `A = A.plan(weights=False)` in front of the loop. All
    else, arguments, results and errors, is as in `on_pre`.

    Args:
        spikes_post: (columns,); bool, or the dtype of the weights: the rule then takes spike_post.
    """
    return _after_rule(A, 1, rule, spikes_post, state, variables, backend)


def normalize(
    A: Matrix,
    target: ArrayLike,
    active: ArrayLike | None = None,
    *,
    axis: int,
    subtractive: bool = False,
    backend: str | None = None,
) -> Matrix:
    """`abs(B).todense().sum(axis) == target`: the weights of each neuron, multiplied so that they add up.

    As the operator `csr_normalize` does, which says more, in place if `data` is not needed again; structure
    and plan stay. With subtractive=True the same is added to each weight of a neuron, and
    `B.todense().sum(axis) == target`. The matrix must have a plan where the weights of a neuron are not
    stored together: for axis=0, or for axis=1 if it is transposed.

    Args:
        target: (columns,) for axis=0, (rows,) for axis=1, 0-d or a number; dtype of the weights.
        active: bool, shaped as the targets of neurons: those whose weights have changed. Default: all.
        axis: 0 for columns, the incoming weights of postsynaptic neurons; 1 for rows, the outgoing ones of
            presynaptic neurons.
        subtractive, backend: as in `csr_normalize`.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of the weights.
        ValueError: another axis, a shape that does not fit, one weight for all entries, or no plan where one
            is needed.
    """
    if known_integer("axis", axis) not in (0, 1):
        raise ValueError(f"axis is {axis!r}; expected 0 for the weights of columns or 1 for those of rows")
    weights, (indices, indptr, *places) = _each_weight(A), _structure(A, 1 - axis)
    moved = csr_normalize(
        weights.reshape(-1),
        indices,
        indptr,
        target,
        active,
        # A plan has the structure of what is stored, transposed.
        shape=A.stored_shape[::-1] if places else A.stored_shape,
        permutation=places[0] if places else None,
        subtractive=subtractive,
        backend=backend,
    )
    return A.with_data(moved.reshape(weights.shape))


def _after_rule(
    A: Any,
    axis: int,
    rule: Callable[..., Any],
    spikes: ArrayLike,
    state: tuple[Any, ...],
    variables: dict[str, Any],
    backend: str | None,
) -> Any:
    weights = _each_weight(A)
    others = tuple(map(as_array, state))
    for i, x in enumerate(others):
        check_shape(f"state[{i}]", x, weights.shape, why="one value for each weight")
    synapses, structure = (weights, *others), _structure(A, axis)
    storage = COLUMNS if len(structure) > 2 else ROWS
    moved, *others = apply_rule(
        storage, rule, synapses, structure, spikes, weights.shape, A.shape, axis, variables, backend
    )
    return (A.with_data(moved), *others) if state else A.with_data(moved)


def _each_weight(A: Any) -> jax.Array:
    check_dtype("data", A.data, FLOATS)
    if not A.data.ndim:
        raise ValueError(
            "data is one weight for all entries; expected one for each, which can change; "
            "A.with_data(A.repeated_data())"
        )
    return A.data


def _structure(A: Any, axis: int) -> tuple[jax.Array, ...]:
    """Return indices and indptr by row (axis 0) or column (1), of a plan with the places of weights."""
    # Together are the entries of a row, and of a column of a matrix that is read transposed.
    if A.transposed != bool(axis):
        if A.by_column is None:
            raise ValueError(
                "the matrix has no plan, and these weights are found by the column they are stored in; "
                "make it once, in front of the loop: A = A.plan(weights=False)"
            )
        return A.by_column[:3]
    return matrix_structure(*A._as_csr()[1:], shape=A.stored_shape)
