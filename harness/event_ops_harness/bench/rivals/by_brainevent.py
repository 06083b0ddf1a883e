"""BrainEvent under `jax.jit`: products of numbers and events with stored, dense and generated matrices."""

from dataclasses import replace
from typing import Any, Final

import brainevent
import jax.numpy as jnp
import numpy as np

from event_ops_harness.bench.steps import Problem, steps_of
from event_ops_harness.bench.timing import Steps

_CSR: Final = ("csr_event_matmat", "csr_event_matvec", "csr_matmat", "csr_matvec")


def _product(problem: Problem) -> Steps:
    """Multiply with a CSR, which must be built outside of jit, and so must the scratch that it keeps."""
    wrap = brainevent.BinaryArray if "event" in problem.operator.name else jnp.asarray
    matrix = brainevent.CSR(problem.args[:3], shape=problem.kwargs["shape"])

    def product(*args: Any) -> Any:
        x = args[-1]
        return (wrap(x.T) @ matrix).T if problem.kwargs.get("transpose") else matrix @ wrap(x)

    product(*problem.on_device)
    return steps_of(problem, product)


def _dense(problem: Problem) -> Steps:
    def product(weights: Any, events: Any) -> Any:
        active = brainevent.BinaryArray(events)
        return active @ weights if problem.kwargs.get("transpose") else weights @ active

    return steps_of(problem, product)


def _generated(problem: Problem) -> Steps | None:
    """Multiply with a matrix that is not stored: from another generator, so another matrix of the kind."""
    if problem.kwargs["distribution"] != "constant":
        return None
    weight, seed, _ = problem.on_device
    kind = weight, problem.kwargs["prob"], int(seed)
    matrix = brainevent.JITCScalarR(kind, shape=problem.kwargs["shape"])
    wrap = brainevent.BinaryArray if problem.args[2].dtype == bool else jnp.asarray

    def product(weight: Any, seed: Any, x: Any) -> Any:
        return wrap(x) @ matrix if problem.kwargs["transpose"] else matrix @ wrap(x)

    return replace(steps_of(problem, product), values=None)


def _rule_on_pre(problem: Problem) -> Steps:
    """Apply a rule of one synapse to all, and keep its result where a presynaptic neuron spiked."""
    params, shape = _rule_of(problem)

    def depress(w: Any, _: Any, x_post: Any, p: Any) -> Any:
        return jnp.clip(w - p["A_minus"] * x_post, p["w_min"], p["w_max"])

    def changed(w: Any, indices: Any, indptr: Any, spikes: Any, x_post: Any) -> Any:
        options = {"post_vals": x_post, "params": params, "shape": shape}
        return brainevent.csr_apply_on_pre(depress, w, indices, indptr, spikes, **options)

    return steps_of(problem, changed)


def _rule_on_post(problem: Problem) -> Steps:
    """Do the same for postsynaptic spikes: it finds their synapses by the structure of the rows."""
    params, shape = _rule_of(problem)
    _, rows, ends, permutation, *_ = problem.args
    columns = np.repeat(np.arange(shape[1], dtype=rows.dtype), np.diff(ends))
    indices, owners = np.empty_like(rows), np.empty_like(rows)
    indices[permutation], owners[permutation] = columns, rows
    indptr = jnp.asarray(np.searchsorted(owners, np.arange(shape[0] + 1)).astype(rows.dtype))
    by_row = jnp.asarray(indices), indptr

    def potentiate(w: Any, x_pre: Any, _: Any, p: Any) -> Any:
        return jnp.clip(w + p["A_plus"] * x_pre, p["w_min"], p["w_max"])

    def changed(w: Any, _rows: Any, _ends: Any, _permutation: Any, spikes: Any, x_pre: Any) -> Any:
        options = {"pre_vals": x_pre, "params": params, "shape": shape}
        return brainevent.csr_apply_on_post(potentiate, w, *by_row, spikes, **options)

    return steps_of(problem, changed)


def _rule_of(problem: Problem) -> tuple[dict[str, Any], tuple[int, int]]:
    params = dict(problem.kwargs)
    return params, params.pop("shape")


OFFERS: Final = {name: {"BrainEvent": _product} for name in _CSR} | {
    "dense_event_matvec": {"BrainEvent": _dense},
    "procedural_event_matvec": {"BrainEvent": _generated},
    "procedural_matvec": {"BrainEvent": _generated},
    "stdp_on_post": {"BrainEvent, any rule": _rule_on_post},
    "stdp_on_pre": {"BrainEvent, any rule": _rule_on_pre},
}
