"""A run of a network as one native call on the CPU: its loop over steps, of the loops of operators.

Threads come once and stay for the run. They meet once in each step, whatever the delays are.
"""

from functools import lru_cache
from typing import Any, Final

import jax
import numpy as np
from numba import prange

from event_ops.catalog.poisson_input import numba_cpu as poisson_input
from event_ops.codegen.emit import defined, filled, tuple_of
from event_ops.kernels.numba_cpu import access, jit, phases, split
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network import learning_loops, learning_source, loops, shares, step_source, waiting_spikes
from event_ops.network.native import make_build, old_arrays, record_like, structured
from event_ops.network.plan import Arrays, Plan, Sums, changed, outputs
from event_ops.network.states import State
from event_ops.neurons.numba_cpu import step_range
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # plans
# By the number of arrays of a matrix.
_DELIVER: Final = {1: "deliver_dense", 3: "deliver_entries", 4: "deliver_words"}
_MODULES: Final = loops, learning_loops, waiting_spikes, access, jit, phases, split, poisson_input
_RUN: Final = """\
shares, turns = SHARES, np.int64(steps[()]) + 1
{begin}
start, interval = np.int64(begin[()]), np.int64(every[()])
found = np.zeros(1, np.uintp)
{turns}
{end}"""
# A thread alone takes no shares: that would empty its buffer of stores twice a step.
_ALONE: Final = """\
{begin}
{ranges}
for turn in range(turns):
    share = 0
    {turn}"""
# Numba types the loop twice, and in the second form 0-d arrays are their values, and the number of a turn is
# unsigned: with values and a signed number in both, the work is compiled once.
_ON_THREADS: Final = """\
phases = new_phases(shares)
{values}
for worker in prange(shares):
    run_shares(np.int64(worker), ARRAYS)"""
_TAKEN: Final = """\
{begin}
ticket, patience = take(phases, shares, shares * turns, worker, 0)
while ticket < shares * turns:
    share, turn = ticket % shares, ticket // shares
    {ranges}
    {turn}
    done(phases)
    ticket, patience = take(phases, shares, shares * turns, worker, patience)"""
# What acts behind a step waits for the spikes of all its neurons, so it begins the next turn.
_TURN: Final = """\
now = np.int32(start + turn)
before = np.int32(now - 1)
if turn > 0:
    if share == 0:
        {join}
    {behind}
if turn < turns - 1:
    {step}"""
_LAST: Final = """
else:
    {last}"""
_DRAW: Final = (
    "draw(weight{m}, key{m}, np.uint32({time}), np.uint32(0), tables{m}, which{m}, {y}, low{p}, high{p})"
)
# The lines of an input, by its kind.
_GIVEN: Final = {
    "poisson": [_DRAW],
    "pulse": ["if window{m}[0] <= {time} < window{m}[1]:", f"    {_DRAW}"],
    "values": ["add_values(values{m}, hold{m}[0], {time} - start, {y}, low{p}, high{p})"],
    "spikes": ["add_train(weight{m}, train{m}, spans{m}, {time} - start, {y}, low{p}, high{p})"],
}
_SHARED: Final = ("phases", "shares", "turns", "start", "interval", "first", "found", "times", "ids")
_NUMBERS: Final = ("begin", "steps", "every", "first", "most_shares")


# Sizes, delays and the number of steps are arrays: networks that differ in these share a kernel.
@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...], large: bool) -> Any:
    """Return the kernel of a plan: of arrays with these names, then the states, histories and records.

    `large`: on all threads, of which each has a share of every step.
    """
    places, outside = range(len(plan.populations)), {"np": np, "prange": prange}
    outside |= {f"step{p}": step_range(x.neuron, x.noise) for p, x in enumerate(plan.populations)}
    for part in plan.learning:
        outside |= learning_source.functions(part)
    shares = "min(np.int64(most_shares[()]), num_threads())" if large else "1"
    views, turn = [line for p in places for line in _views(plan, p)], _turn(plan)
    whole = [f"low{p}, high{p} = 0, size{p}" for p in places]
    turns = filled(_ALONE, begin=views, ranges=whole, turn=turn)
    if large:
        taken = [*_SHARED, *(x for x in names if x not in _NUMBERS), *_arrays(plan)]
        ranges = [f"low{p}, high{p} = bounds{p}[share], bounds{p}[share + 1]" for p in places]
        work = filled(_TAKEN, begin=views, ranges=ranges, turn=turn)
        outside["run_shares"] = njit(defined("run_shares", ["worker", *taken], work, *_MODULES, **outside))
        values = [f"{x} = hoist({x})" for x in names if x not in _NUMBERS]
        turns = filled(_ON_THREADS.replace("ARRAYS", ", ".join(taken)), values=values)
    body = filled(
        _RUN.replace("SHARES", shares),
        begin=[
            *(line for p in places for line in _begin(plan, p)),
            *(line for part in plan.learning for line in learning_source.begin(part)),
        ],
        turns=turns,
        end=[
            *(f"write_history({_sent(p)}, history{p})" for p in places),
            *(line for part in plan.learning for line in learning_source.end(part)),
            f"num_spikes[()] = end_record(found[0], first[{len(places)}], times, ids)",
        ],
    )
    old = [f"old_{name}" for name in changed(plan)]
    taken = [*names, *old, *outputs(plan)]
    return njit(parallel=large)(defined("network_run", taken, body, *_MODULES, **outside))


def _turn(plan: Plan) -> list[str]:
    """Return the lines of a share of a turn."""
    places = range(len(plan.populations))
    record = ["row = (turn - 1) // interval"] if plan.recorded else []
    for r, (p, key) in enumerate(plan.recorded):
        states, chosen = plan.populations[p].states, f"chosen{r}, trace{r}[row], low{p}, high{p})"
        if key in states:
            record += ["if turn % interval == 0:", f"    record_state(state{p}_{states.index(key)}, {chosen}"]
        else:
            record += [f"count_spikes((turn - 1) % interval == 0, spikes{p}, {chosen}"]
    last = [line for part in plan.learning for line in learning_source.last(part)]
    return filled(
        _TURN + _LAST * bool(last),
        join=[f"end_step(sent{p}, before, first[{p}], found, times, ids)" for p in places],
        behind=[*_added(plan, True), *record],
        step=[*_added(plan, False), *(line for p in places for line in _stepped(plan, p))],
        last=last,
    )


def _arrays(plan: Plan) -> list[str]:
    """Return the names of the arrays that a run makes or changes, but for the record of spikes."""
    each, names = list(enumerate(plan.populations)), [f"trace{r}" for r in range(len(plan.recorded))]
    for p, part in each:
        names += [f"state{p}_{k}" for k in range(len(part.states))]
        names += [f"{x}{p}" for x in ("spikes", "lists", "counts", "parts", "lengths", "bounds", "rows")]
        names += step_source.seen(plan, p)
    names += [name for part in plan.learning for name in learning_source.arrays(part)]
    return [*names, *(f"sums{k}" for k, sums in enumerate(plan.sums) if not plan.is_state(sums))]


def _begin(plan: Plan, p: int) -> list[str]:
    """Return the lines that make the arrays of a population."""
    return [
        f"size{p} = state{p}_0.size",
        f"spikes{p} = np.empty(size{p}, np.bool_)",
        *(f"{x} = np.empty_like(state{p}_0)" for x in step_source.seen(plan, p)),
        *_bounds(plan, p),
        f"lists{p}, counts{p} = lists_of(history{p}, size{p})",
        f"parts{p}, lengths{p} = parts_of(lists{p}, counts{p}, bounds{p}, np.int64(begin[()]))",
        f"rows{p} = np.empty((shares, size{p}), np.uintp)",
        *(
            f"sums{k} = np.empty_like(state{p}_0)"
            for k, sums in enumerate(plan.sums)
            if sums.population == p and not plan.is_state(sums)
        ),
    ]


def _bounds(plan: Plan, p: int) -> list[str]:
    """Return the lines that divide a population into shares: equal ones, or by the synapses that learn."""
    matrices = {q: count for x in plan.sums if x.population == p for q, _, count in x.projections}
    learning = [part.projection for part in plan.learning if part.target == p and part.rules[1]]
    # Matrices in parts are divided there.
    if not learning or any(_DELIVER[count] == "deliver_words" for count in matrices.values()):
        return [f"bounds{p} = bounds_of(starts{p}, shares)"]
    # The indices of a CSR, or the weights of a dense matrix.
    static = [f"matrix{q}_{count // 2}.size" for q, count in matrices.items() if q not in learning]
    return [
        f"costs{p} = synapse_costs(size{p}, {' + '.join(static or ['0'])})",
        *(f"add_learning(costs{p}, columns{q}_1)" for q in learning),
        f"bounds{p} = bounds_by_cost(costs{p}, shares)",
    ]


def _sent(p: int) -> str:
    return f"Sent(lists{p}, counts{p}, parts{p}, lengths{p}, bounds{p})"


def _views(plan: Plan, p: int) -> list[str]:
    """Return the lines in front of the loop of a thread for a population."""
    part = plan.populations[p]
    states = [f"state{p}_{k}" for k in range(len(part.states))]
    return [
        f"states{p} = {tuple_of([*states, f'stored_spikes(spikes{p})', *step_source.seen(plan, p)])}",
        f"sent{p} = {_sent(p)}",
        *step_source.value_lines(plan, p),
        *([f"words{p} = hoist(seed{p}), hoist(origin{p})"] if part.noise else []),
    ]


def _stepped(plan: Plan, p: int) -> list[str]:
    """Return the lines that step the neurons of a range, and list their spikes."""
    return [
        f"step{p}(states{p}, {_variables(plan, p)}, low{p}, high{p})",
        f"list_spikes(spikes{p}, sent{p}, now, share)",
    ]


def _variables(plan: Plan, p: int) -> str:
    """Return the tuple of the variables of a step."""
    part, names = plan.populations[p], step_source.variables(plan, p, "sums{}".format)
    noise = [f"words{p}[0]", "np.uint32(now)", f"words{p}[1]", f"table{p}"] if part.noise else []
    return tuple_of([*names, *noise]) if names or noise else "()"


def _added(plan: Plan, to_states: bool) -> list[str]:
    """Return the lines that add the arrivals of a step, to states or to variables."""
    chosen = [(k, sums) for k, sums in enumerate(plan.sums) if plan.is_state(sums) == to_states]
    return [line for k, sums in chosen for line in _added_to(plan, k, sums)]


def _added_to(plan: Plan, k: int, sums: Sums) -> list[str]:
    p, part = sums.population, plan.populations[sums.population]
    is_state = plan.is_state(sums)
    y = f"state{p}_{part.states.index(sums.receptor)}" if is_state else f"sums{k}"
    time, newest = ("before", 0) if is_state else ("now", 1)
    given = [line.format(m=m, time=time, p=p, y=y) for m, kind in sums.inputs for line in _GIVEN[kind]]
    learning, delivered = {part.projection: part for part in plan.learning}, []
    for q, s, count in sums.projections:
        if q in learning:
            delivered += learning_source.step(learning[q], y, time, newest)
            continue
        matrix = tuple_of([f"matrix{q}_{k}" for k in range(count)])
        spikes = f"ages{q}, sent{s}, {time}, np.uintp({newest}), rows{s}[share]"
        delivered.append(f"{_DELIVER[count]}({matrix}, {spikes}, {y}, low{p}, high{p})")
    return [*([] if is_state else [f"clear({y}[low{p}:high{p}])"]), *given, *delivered]


def _run(network: Any, state: State, plan: Plan, arrays: Arrays, outs: Any) -> Any:
    """Return the results of the native call in the structure of `outs`."""
    most = shares.most_shares(network, plan)
    arrays |= shares.share_arrays(network, arrays) | {"most_shares": np.int32(most)}
    old = old_arrays(network, state, plan)
    like = *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in old), *record_like(network, plan, outs)
    places = {len(arrays) + k: k for k in range(len(old))}
    native = numba_kernel(kernel(plan, tuple(arrays), most > 1), like, input_output_aliases=places)
    return structured(network, plan, native(*arrays.values(), *old))


build = make_build(_run, on_gpu=False)
