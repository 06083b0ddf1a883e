"""A native run, whatever compiles it: its plan, or the scan in place of it, and the arrays in and out."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax

from event_ops.network import reference
from event_ops.network.learning_plan import Learning
from event_ops.network.plan import Arrays, NoNativeRunError, Plan, plan_of
from event_ops.network.plasticity import WEIGHT
from event_ops.network.states import State

Run = Callable[[Any, State, Plan, Arrays, Any], Any]  # of network, state, plan, its arrays, and outs


def make_build(run: Run, *, on_gpu: bool) -> Callable[..., Any]:
    """Return `build`, whose function of the leaves of network, state and inputs is the run, or the scan.

    `on_gpu` is that of `plan_of`.
    """

    def build(*, tree: Any, steps: int, outs: Any, **_: Any) -> Callable[..., Any]:
        def call(*leaves: Any) -> Any:
            network, state, values = jax.tree.unflatten(tree, leaves)
            try:
                plan, arrays = plan_of(network, state, values, steps, on_gpu=on_gpu)
            except NoNativeRunError as reason:
                warnings.warn(
                    f"the network runs as a scan of operators, since {reason}; change that, or say that "
                    "the scan is meant: backend='reference'",
                    stacklevel=2,
                )
                return reference.run(network, state, values, steps)
            return run(network, state, plan, arrays, outs)

        return call

    return build


def old_arrays(network: Any, state: State, plan: Plan) -> list[jax.Array]:
    """Return the arrays that a run updates, in the order of `plan.changed`."""
    layout = network.layout
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    populations = list(zip(layout.populations, plan.populations, strict=True))
    states = [neurons[name][key] for name, part in populations for key in part.states]
    synapses = [state.synapses[part.projection][name] for part in plan.learning for name in _names(part)]
    return [*states, *(history[name] for name, _ in populations), *synapses]


def _names(part: Learning) -> tuple[str, ...]:
    """Return the names of the weights and traces of a projection in the order of `Learning.changed`."""
    return (WEIGHT, *part.traces[0], *part.traces[1])


def record_like(network: Any, plan: Plan, outs: Any) -> list[Any]:
    """Return shapes and dtypes of the record, in the order of `plan.outputs`."""
    *_, (times, ids, count, traces) = outs
    layout = network.layout
    names, named = list(layout.populations), layout.named(traces)
    return [times, ids, count, *(named[names[p]][key] for p, key in plan.recorded)]


def structured(network: Any, plan: Plan, results: Sequence[Any]) -> Any:
    """Return results, given in the order of `plan.outputs`, as the structure of outs."""
    layout, leaves = network.layout, iter(results)
    names = list(layout.populations)
    parts = zip(names, plan.populations, strict=True)
    neurons = {name: {key: next(leaves) for key in part.states} for name, part in parts}
    histories = {name: next(leaves) for name in names}
    learning = {part.projection: {name: next(leaves) for name in _names(part)} for part in plan.learning}
    count = len(network.projections) if plan.learning else 0
    synapses = tuple(learning.get(place, {}) for place in range(count))
    listed = next(leaves), next(leaves), next(leaves)
    states: dict[str, dict[str, jax.Array]] = {name: {} for name in layout.named(network.record.states)}
    for p, key in plan.recorded:
        states[names[p]][key] = next(leaves)
    return layout.nested(neurons), layout.nested(histories), synapses, (*listed, layout.nested(states))
