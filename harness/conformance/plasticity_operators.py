"""`plasticity.on_pre` and `on_post` with a rule that has a variable of every kind, for the conformance kit.

`pytest --operators plasticity_operators`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import plasticity
from event_ops.cases import Arguments, Case, InvalidCall, Rounding, changes_to
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.discover import Operator
from event_ops.kernels.oracle import csr_entries, wide
from event_ops.plasticity.apply_rule import KERNELS
from event_ops.plasticity.emit import COLUMNS, DENSE_COLUMNS, DENSE_ROWS, ROWS

TAU, W_MAX = 3.0, 0.9


def at_spike(w: Any, trace: Any, *, x_pre: Any, x_post: Any, rate: Any) -> Any:
    """Add to a trace of the synapse what the neurons say, and learn from it."""
    trace = trace + jnp.where(x_post > x_pre, x_pre - 0.3, -x_post)
    moved = w + rate * jnp.tanh(trace)
    return jnp.where(moved > W_MAX, W_MAX, moved), trace


# The trace decays for 1 time step before: by exp(-1 / tau).
rule = plasticity.decaying(at_spike, since="last_pre", trace="tau")
STEP = {"tau": TAU, "last_pre": 2.0, "t": 3.0}


def rule_in_numpy(w: Any, trace: Any, x_pre: Any, x_post: Any, rate: Any) -> Any:
    """The same, of NumPy's numbers."""
    trace = trace * np.exp(-1 / TAU) + (x_pre - 0.3 if x_post > x_pre else -x_post)
    return np.minimum(w + rate * np.tanh(trace), W_MAX), trace


def rule_on_pre(
    w: Any,
    trace: Any,
    indices: Any,
    indptr: Any,
    spikes: Any,
    x_pre: Any,
    x_post: Any,
    rate: Any,
    **named: Any,
) -> tuple[jax.Array, jax.Array]:
    """Call `plasticity.on_pre` with the rule."""
    variables = {"x_pre": x_pre, "x_post": x_post, "rate": rate, **STEP}
    return plasticity.on_pre(rule, (w, trace), indices, indptr, spikes, **variables, **named)


def rule_on_post(
    w: Any, trace: Any, rows: Any, indptr: Any, permutation: Any, spikes: Any, x_pre: Any, x_post: Any,
    rate: Any, **named: Any,
) -> tuple[jax.Array, jax.Array]:  # fmt: skip
    """Call `plasticity.on_post` with the rule."""
    variables = {"x_pre": x_pre, "x_post": x_post, "rate": rate, **STEP}
    return plasticity.on_post(rule, (w, trace), rows, indptr, permutation, spikes, **variables, **named)


def dense_on_pre(
    w: Any, trace: Any, spikes: Any, x_pre: Any, x_post: Any, rate: Any, **named: Any
) -> tuple[jax.Array, jax.Array]:
    """Call `plasticity.on_pre` with the rule and a dense matrix."""
    variables = {"x_pre": x_pre, "x_post": x_post, "rate": rate, **STEP}
    return plasticity.on_pre(rule, (w, trace), spikes_pre=spikes, **variables, **named)


def dense_on_post(
    w: Any, trace: Any, spikes: Any, x_pre: Any, x_post: Any, rate: Any, **named: Any
) -> tuple[jax.Array, jax.Array]:
    """Call `plasticity.on_post` with the rule and a dense matrix."""
    variables = {"x_pre": x_pre, "x_post": x_post, "rate": rate, **STEP}
    return plasticity.on_post(rule, (w, trace), spikes_post=spikes, **variables, **named)


def oracle_on_pre(
    w: Any, trace: Any, indices: Any, indptr: Any, spikes: Any, x_pre: Any, x_post: Any, rate: Any,
    *, shape: Shape,
) -> tuple[Any, Any]:  # fmt: skip
    """Apply the rule in a loop over the rows that spike."""
    w, trace, x_pre, x_post, rate = map(wide, (w, trace, x_pre, x_post, rate))
    w, trace = w.copy(), trace.copy()
    for i, j, k in csr_entries(indices, indptr, shape):
        if spikes[i]:
            w[k], trace[k] = rule_in_numpy(w[k], trace[k], x_pre[i], x_post[j], rate[k])
    return w, trace


def oracle_on_post(
    w: Any, trace: Any, rows: Any, indptr: Any, permutation: Any, spikes: Any, x_pre: Any, x_post: Any,
    rate: Any, *, shape: Shape,
) -> tuple[Any, Any]:  # fmt: skip
    """Apply the rule in a loop over the columns that spike."""
    w, trace, x_pre, x_post, rate = map(wide, (w, trace, x_pre, x_post, rate))
    w, trace = w.copy(), trace.copy()
    for j, i, p in csr_entries(rows, indptr, shape[::-1]):
        k = int(permutation[p])
        if spikes[j] and 0 <= k < len(w):
            w[k], trace[k] = rule_in_numpy(w[k], trace[k], x_pre[i], x_post[j], rate[k])
    return w, trace


def _oracle_of_dense(axis: int) -> Any:
    def oracle(
        w: Any, trace: Any, spikes: Any, x_pre: Any, x_post: Any, rate: Any, *, shape: Shape
    ) -> tuple[Any, Any]:
        """Apply the rule in a loop over all synapses."""
        w, trace, x_pre, x_post, rate = map(wide, (w, trace, x_pre, x_post, rate))
        w, trace = w.copy(), trace.copy()
        for at in np.ndindex(shape):
            if spikes[at[axis]]:
                w[at], trace[at] = rule_in_numpy(w[at], trace[at], x_pre[at[0]], x_post[at[1]], rate[at])
        return w, trace

    return oracle


def _arrays(draw: Draw, shape: Shape, nse: int) -> tuple[Any, ...]:
    w, trace, rate = draw.rng.uniform(0.1, 0.8, (3, nse)).astype(draw.dtype)
    x_pre, x_post = (draw.rng.uniform(0, 1, size).astype(draw.dtype) for size in shape)
    return w, trace, x_pre, x_post, rate


@drawn
def _by_row(draw: Draw, shape: Shape, nse: int, astray: bool = False) -> Arguments:
    _, indices, indptr = draw.csr(shape, nse)
    w, trace, *variables = _arrays(draw, shape, nse)
    if astray:
        indices[::3] = shape[1] + 5
    return (w, trace, indices, indptr, draw.events(shape[0], 0.4), *variables), {"shape": shape}


@drawn
def _by_column(draw: Draw, shape: Shape, nse: int, astray: bool = False) -> Arguments:
    _, rows, indptr = draw.csr(shape[::-1], nse)
    permutation = draw.rng.permutation(nse).astype(rows.dtype)
    w, trace, *variables = _arrays(draw, shape, nse)
    if astray:
        rows[::3], permutation[::4] = shape[0] + 5, nse
    return (w, trace, rows, indptr, permutation, draw.events(shape[1], 0.4), *variables), {"shape": shape}


@drawn
def _dense(draw: Draw, shape: Shape, axis: int) -> Arguments:
    w, trace, x_pre, x_post, rate = _arrays(draw, shape, shape[0] * shape[1])
    w, trace, rate = (x.reshape(shape) for x in (w, trace, rate))
    return (w, trace, draw.events(shape[axis], 0.4), x_pre, x_post, rate), {"shape": shape}


def _dense_cases(axis: int) -> tuple[Case, ...]:
    differentiable = 0, 1, 3, 4, 5
    return (
        Case("random", _dense((17, 23), axis), differentiable=differentiable),
        Case("no-rows", _dense((0, 4), axis)),
        Case("no-columns", _dense((4, 0), axis)),
        Case("threads", _dense((900, 1300), axis)),
    )


def _cases(made: Any, differentiable: tuple[int, ...]) -> tuple[Case, ...]:
    return (
        Case("random", made((17, 23), 120), differentiable=differentiable),
        Case("out-of-range", made((9, 7), 60, True), differentiable=differentiable),
        Case("no-entries", made((5, 4), 0), differentiable=differentiable),
        Case("no-rows", made((0, 4), 0)),
        Case("threads", made((3000, 500), 1_100_000)),
    )


_X = np.ones(4, np.float32)
_of_rows = changes_to(
    {
        "w": np.ones(3, np.float32),
        "trace": np.ones(3, np.float32),
        "indices": np.array([0, 3, 1]),
        "indptr": np.array([0, 1, 3]),
        "spikes": np.ones(2, bool),
        "x_pre": _X[:2],
        "x_post": _X,
        "rate": _X[:3],
    },
    shape=(2, 4),
)
_of_columns = changes_to(
    {
        "w": np.ones(3, np.float32),
        "trace": np.ones(3, np.float32),
        "rows": np.array([0, 1, 1]),
        "indptr": np.array([0, 1, 2, 2, 3]),
        "permutation": np.array([0, 2, 1]),
        "spikes": np.ones(4, bool),
        "x_pre": _X[:2],
        "x_post": _X,
        "rate": _X[:3],
    },
    shape=(2, 4),
)


_OF_DENSE: dict[str, Any] = {
    "w": np.ones((2, 4), np.float32),
    "trace": np.ones((2, 4), np.float32),
    "spikes": np.ones(2, bool),
    "x_pre": _X[:2],
    "x_post": _X,
    "rate": np.ones((2, 4), np.float32),
}
_of_dense_rows = changes_to(_OF_DENSE, shape=(2, 4))
_of_dense_columns = changes_to(_OF_DENSE | {"spikes": np.ones(4, bool)}, shape=(2, 4))


def _dense_mistakes(wrong: Any) -> tuple[InvalidCall, ...]:
    return (
        wrong("short", ValueError, r"synapses\[1\] has shape \(4,\); expected \(2, 4\)", trace=_X),
        wrong("flat", ValueError, "expected 2: .presynaptic, postsynaptic. neurons", w=_X),
        wrong("pre", ValueError, r"x_pre has shape \(4,\); expected \(2,\)", x_pre=_X),
        wrong("rate", ValueError, r"rate has shape \(4,\); expected \(2, 4\)", rate=_X),
        wrong("spikes", ValueError, "one per neuron, that is per", spikes=np.ones(3, bool)),
    )


def _mistakes(wrong: Any) -> tuple[InvalidCall, ...]:
    return (
        wrong("short", ValueError, r"synapses\[1\] has shape \(4,\); expected \(3,\)", trace=_X),
        wrong("pre", ValueError, r"x_pre has shape \(4,\); expected \(2,\)", x_pre=_X),
        wrong("post", ValueError, r"x_post has shape \(2,\); expected \(4,\)", x_post=_X[:2]),
        wrong("rate", ValueError, r"rate has shape \(4,\); expected \(3,\)", rate=_X),
        wrong("integer-spikes", TypeError, "has dtype int32; expected bool", spikes=_X.astype(np.int32)),
        wrong("mixed", TypeError, "rate has dtype float16", rate=_X[:3].astype(np.float16)),
    )


_DTYPES = ("float32", "float64")
OPERATORS = (
    Operator(
        "rule_on_pre",
        rule_on_pre,
        KERNELS[ROWS],
        _DTYPES,
        _cases(_by_row, (0, 1, 5, 6, 7)),
        _mistakes(_of_rows),
        oracle_on_pre,
        Rounding(8),
    ),
    Operator(
        "rule_on_post",
        rule_on_post,
        KERNELS[COLUMNS],
        _DTYPES,
        _cases(_by_column, (0, 1, 6, 7, 8)),
        _mistakes(_of_columns),
        oracle_on_post,
        Rounding(8),
    ),
    Operator(
        "rule_on_pre_dense",
        dense_on_pre,
        KERNELS[DENSE_ROWS],
        _DTYPES,
        _dense_cases(0),
        _dense_mistakes(_of_dense_rows),
        _oracle_of_dense(0),
        Rounding(8),
    ),
    Operator(
        "rule_on_post_dense",
        dense_on_post,
        KERNELS[DENSE_COLUMNS],
        _DTYPES,
        _dense_cases(1),
        _dense_mistakes(_of_dense_columns),
        _oracle_of_dense(1),
        Rounding(8),
    ),
)
