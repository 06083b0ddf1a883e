"""Which runs have a native gradient: those of populations with a surrogate, of parts that it knows."""

import warnings
from functools import lru_cache
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.network import reference
from event_ops.network.functions import Functions
from event_ops.network.gradient.adjoint import adjoint_of
from event_ops.network.gradient.primitive import forward_kernel
from event_ops.network.plan import NoNativeRunError, Plan, plan_of
from event_ops.network.states import State
from event_ops.sparse.compact import CompactCSR

ON_GPU: Final = "spikes are numbers, as with a surrogate, which the kernel of a GPU lacks"
_KEPT: Final = 1024  # networks


def has_surrogates(network: Any, state: State, functions: Functions) -> bool:
    """Return whether the spikes of a population are numbers, through which derivatives pass."""
    leaves, tree = jax.tree.flatten((network, state))
    return _has_surrogates(
        tree, functions, tuple(jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)) for x in leaves)
    )


@lru_cache(_KEPT)
def _has_surrogates(tree: Any, _: Functions, leaves: tuple[jax.ShapeDtypeStruct, ...]) -> bool:
    found: dict[str, Any] = {}

    def note(*leaves: jax.Array) -> None:
        network, state = jax.tree.unflatten(tree, leaves)
        found.update(reference.float_spikes(network.layout, state))

    jax.eval_shape(note, *leaves)
    return bool(found)


def lacks_gradient(network: Any, state: State) -> str:
    """Return why a run has no native gradient, as a clause, or ""."""
    if any(part.plasticity is not None for part in network.projections):
        return "a projection has plasticity, which has no native gradient"
    if any(isinstance(part.A, CompactCSR) for part in network.projections):
        return "a projection has a CompactCSR, which has no native gradient"
    if any(part.kind != "values" for part in network.inputs):
        return "there is an input other than a TimedInput, which has no native gradient"
    try:
        plan, _ = plan_of(network, state, {}, 1, surrogates=True)
    except NoNativeRunError as reason:
        return str(reason)
    return _of_neurons(plan)


def _of_neurons(plan: Plan) -> str:
    if any(part.noise for part in plan.populations):
        return "a model draws noise, which has no native gradient"
    try:
        for part in plan.populations:
            adjoint_of(part.neuron, ())
    except ValueError as reason:  # a surrogate may do what JAX can and kernels lack
        return f"the derivative of a neuron has no kernel: {reason}"
    return ""


def runs_natively(network: Any, state: State, backend: str | None) -> bool:
    """Return whether a run that is differentiated is a native call; warn where that may be unexpected."""
    if backend == "reference" or (backend is None and jax.default_backend() != "cpu"):
        return False
    if "numba_cpu" not in forward_kernel.available_backends("cpu"):
        return False
    reason = lacks_gradient(network, state)
    if reason and backend is None:
        warnings.warn(
            f"the network runs as a scan of operators, since {reason}; change that, or say that the scan is "
            "meant: backend='reference'",
            stacklevel=3,
        )
    return not reason
