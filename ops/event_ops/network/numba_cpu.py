"""A run of a network as one native call on the CPU: its loop over steps, of the loops of operators."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import jax
import numpy as np

from event_ops.catalog.poisson_input.numba_cpu import draw
from event_ops.codegen.emit import defined, filled, tuple_of
from event_ops.codegen.function import ALL
from event_ops.kernels.numba_cpu.access import hoist, stored_spikes
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.split import clear
from event_ops.network import loops, reference
from event_ops.network.plan import NoNativeRunError, Plan, Sums, changed, outputs, plan_of
from event_ops.network.states import State
from event_ops.neurons.numba_cpu import step_range
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # plans
_DELIVER: Final = {3: "deliver_entries", 4: "deliver_words"}  # by the number of arrays of a matrix
_LOOPS: Final = (
    loops.end_record, loops.list_spikes, loops.lists_of, loops.record_spikes,
    loops.record_state, loops.write_history, clear, draw, hoist, stored_spikes,
)  # fmt: skip
_RUN: Final = """\
{begin}
found = np.uintp(0)
for turn in range(np.int64(steps[()])):
    time = np.int32(np.int64(begin[()]) + turn)
    {before}
    {step}
    {behind}
    {record}
{end}"""


# Sizes, delays and the number of steps are arrays: networks that differ in these share a kernel.
@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...]) -> Any:
    """Return the kernel of a plan: of arrays with these names, then the states, histories and records."""
    begin, step, record, end = [], [], [], []
    for p in range(len(plan.populations)):
        begin += _begin(plan, p)
        step += [f"step{p}(states{p}, {_variables(plan, p)}, 0, size{p})"]
        record += [f"found = record_spikes(lists{p}, counts{p}, time, first[{p}], found, times, ids)"]
        end += [f"write_history(lists{p}, counts{p}, history{p})"]
    step += [f"list_spikes(spikes{p}, lists{p}, counts{p}, time)" for p in range(len(plan.populations))]
    if plan.recorded:
        record += ["if (turn + 1) % every[()] == 0:"]
    for r, (p, key) in enumerate(plan.recorded):
        state = f"state{p}_{plan.populations[p].states.index(key)}"
        record += [f"    record_state({state}, chosen{r}, trace{r}[turn // every[()]])"]
    body = filled(
        _RUN,
        begin=begin,
        before=_added(plan, False),
        step=step,
        behind=_added(plan, True),
        record=record,
        end=[*end, f"end_record(found, first[{len(plan.populations)}], times, ids, num_spikes)"],
    )
    steps = {f"step{p}": step_range(x.neuron, x.noise) for p, x in enumerate(plan.populations)}
    outside = {x.__name__: x for x in _LOOPS} | steps | {"np": np}
    outside |= {"deliver_entries": loops.deliver_entries, "deliver_words": loops.deliver_words}
    old = [f"old_{name}" for name in changed(plan)]
    return njit(defined("network_run", [*names, *old, *outputs(plan)], body, **outside))


def _begin(plan: Plan, p: int) -> list[str]:
    """Return the lines in front of the loop for a population."""
    part = plan.populations[p]
    neuron, states = part.neuron, [f"state{p}_{k}" for k in range(len(part.states))]
    seen = [f"seen{p}_{k}" for k in range(neuron.count - neuron.positional - 1)]
    places = neuron.places[neuron.positional :]
    return [
        f"size{p} = {states[0]}.size",
        f"spikes{p} = np.empty(size{p}, np.bool_)",
        *(f"{x} = np.empty_like({states[0]})" for x in seen),
        f"states{p} = {tuple_of([*states, f'stored_spikes(spikes{p})', *seen])}",
        f"lists{p}, counts{p} = lists_of(history{p}, size{p})",
        f"rows{p} = np.empty(size{p}, np.uintp)",
        *(
            f"value{p}_{k} = {f'hoist(given{p}_{k})' if place == ALL else f'given{p}_{k}'}"
            for k, (receptor, place) in enumerate(zip(part.variables, places, strict=False))
            if not receptor
        ),
        *(
            f"sums{k} = np.empty_like({states[0]})"
            for k, sums in enumerate(plan.sums)
            if sums.population == p and not plan.is_state(sums)
        ),
        *([f"words{p} = hoist(seed{p}), hoist(origin{p})"] if part.noise else []),
    ]


def _variables(plan: Plan, p: int) -> str:
    """Return the tuple of the variables of a step."""
    part = plan.populations[p]
    names = [f"value{p}_{k}" for k in range(len(part.variables))]
    for k, sums in enumerate(plan.sums):
        if sums.population == p and sums.receptor in part.variables:
            names[part.variables.index(sums.receptor)] = f"sums{k}"
    noise = [f"words{p}[0]", "np.uint32(time)", f"words{p}[1]", f"table{p}"] if part.noise else []
    return tuple_of([*names, *noise]) if names or noise else "()"


def _added(plan: Plan, to_states: bool) -> list[str]:
    """Return the lines that add the arrivals of a step, to states or to variables."""
    chosen = [(k, sums) for k, sums in enumerate(plan.sums) if plan.is_state(sums) == to_states]
    return [line for k, sums in chosen for line in _added_to(plan, k, sums)]


def _added_to(plan: Plan, k: int, sums: Sums) -> list[str]:
    p, part = sums.population, plan.populations[sums.population]
    is_state = plan.is_state(sums)
    y = f"state{p}_{part.states.index(sums.receptor)}" if is_state else f"sums{k}"
    drawn = [
        f"draw(weight{m}, key{m}, np.uint32(time), np.uint32(0), tables{m}, which{m}, {y}, 0, size{p})"
        for m in sums.inputs
    ]
    delivered = [
        f"{_DELIVER[count]}({tuple_of([f'matrix{q}_{k}' for k in range(count)])}, ages{q}, lists{s}, "
        f"counts{s}, time, rows{s}, {y})"
        for q, s, count in sums.projections
    ]
    return [*([] if is_state else [f"clear({y})"]), *drawn, *delivered]


def build(*, tree: Any, steps: int, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves of a network and a state: the native call, or the scan."""

    def call(*leaves: Any) -> Any:
        network, state = jax.tree.unflatten(tree, leaves)
        try:
            plan, arrays = plan_of(network, state)
        except NoNativeRunError as reason:
            warnings.warn(
                f"the network runs as a scan of operators, since {reason}; put it into the step, or say that "
                "the scan is meant: backend='reference'",
                stacklevel=2,
            )
            return reference.run(network, state, steps)
        return _run(network, state, plan, arrays | {"steps": np.int32(steps)}, outs)

    return call


def _run(network: Any, state: State, plan: Plan, arrays: dict[str, Any], outs: Any) -> Any:
    """Return the results of the native call in the structure of `outs`."""
    layout = network.layout
    populations = list(zip(layout.populations, plan.populations, strict=True))
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    old = [neurons[name][key] for name, part in populations for key in part.states]
    old += [history[name] for name, _ in populations]
    *_, (times, ids, count, traces) = outs
    rows = [layout.named(traces)[populations[p][0]][key] for p, key in plan.recorded]
    like = *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in old), times, ids, count, *rows
    places = {len(arrays) + k: k for k in range(len(old))}
    native = numba_kernel(kernel(plan, tuple(arrays)), like, input_output_aliases=places)
    results = iter(native(*arrays.values(), *old))
    new = {name: {key: next(results) for key in part.states} for name, part in populations}
    histories = {name: next(results) for name, _ in populations}
    listed = next(results), next(results), next(results)
    seen: dict[str, dict[str, jax.Array]] = {name: {} for name in layout.named(network.record.states)}
    for p, key in plan.recorded:
        seen[populations[p][0]][key] = next(results)
    return layout.nested(new), layout.nested(histories), (*listed, layout.nested(seen))
