"""The kernel of the gradient of a run: its steps backwards, from the cotangents of its results."""

from functools import lru_cache
from typing import Any, Final, NamedTuple

from event_ops.codegen.emit import defined, filled, tuple_of
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network.gradient.adjoint import adjoint_of, float_states, has_surrogate, reach_of
from event_ops.network.gradient.forward import OUTSIDE, on_threads
from event_ops.network.gradient.source import KIND, each_state, hoisted, matrix, step_lines, variables
from event_ops.network.plan import Plan
from event_ops.neurons.numba_cpu import step_range

_KEPT: Final = 1024  # plans
# A block of samples goes step by step together, so that a row of weights is read from memory once for all.
_SHARE: Final = """\
count, every, segment, shares = numbers[0], numbers[1], numbers[2], numbers[3]
{begin}
for low in range(share * BLOCK, begin.size, shares * BLOCK):
    high = min(low + BLOCK, begin.size)
    block = high - low
    {block}
    for start in range((count - 1) // segment * segment, -1, -segment):
        stop = min(start + segment, count)
        for c in range(block):
            b = low + c
            {restore}
            for s in range(start, stop):
                now, t = np.int32(begin[b] + s), s - start
                {keep}
                {step}
        for s in range(stop - 1, start - 1, -1):
            t = s - start
            for c in range(block):
                b = low + c
                {reach}
            {spikes}
            for c in range(block):
                b = low + c
                {adjoint}
                {weights}
    for c in range(block):
        b = low + c
        {before}
        {end}"""
BLOCK: Final = 16


class Wanted(NamedTuple):
    """Hold the names of the arrays that derivatives are made of, with whether each sample has one of its own."""

    names: tuple[tuple[str, bool], ...]

    def place(self, name: str) -> str:
        """Return the array to which a share adds the derivative in an array, or "" if none is wanted."""
        return next((f"d_{x}[{'b' if each else 'share'}]" for x, each in self.names if x == name), "")


def float_places(plan: Plan) -> list[tuple[int, int]]:
    """Return (population, place) of the states with derivatives."""
    return [(p, k) for p, part in enumerate(plan.populations) for k in float_states(part.neuron)]


def float_traces(plan: Plan) -> list[int]:
    """Return which records have derivatives."""
    floats = float_places(plan)
    found = []
    for r, (p, key) in enumerate(plan.recorded):
        states = plan.populations[p].states
        if key not in states or (p, states.index(key)) in floats:
            found.append(r)
    return found


def cotangents(plan: Plan) -> list[str]:
    """Return the names of the cotangents of results."""
    return [*(f"c_state{p}_{k}" for p, k in float_places(plan)), *(f"c_trace{r}" for r in float_traces(plan))]


def outputs(plan: Plan, wanted: Wanted) -> list[str]:
    """Return the names of the outputs."""
    return [*(f"d_init{p}_{k}" for p, k in float_places(plan)), *(f"d_{name}" for name, _ in wanted.names)]


@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...], wanted: Wanted) -> Any:
    """Return the kernel of a plan, of arrays with these names, then its outputs."""
    places = range(len(plan.populations))
    taken, outside = [*names, *outputs(plan, wanted)], dict(OUTSIDE)
    for p, part in enumerate(plan.populations):
        active = _active(plan, p, wanted)
        outside[f"step{p}"] = step_range(part.neuron)
        outside[f"adjoint{p}"] = step_range(adjoint_of(part.neuron, active))
        if has_surrogate(part.neuron):
            outside[f"reach{p}"] = step_range(reach_of(part.neuron, active))
    of_share = [f"d_{name}" for name, each in wanted.names if not each]
    of_sample = [f"d_{name}" for name, each in wanted.names if each]
    body = filled(
        _SHARE.replace("BLOCK", str(BLOCK)),
        begin=[
            *(line for p in places for line in hoisted(plan, p)),
            *(line for p in places for line in _scratch(plan, p, wanted)),
            *(f"{name}[share] = 0" for name in of_share),
        ],
        block=[
            *(line for p in places for line in _block(plan, p)),
            *(f"{x}[low:high] = 0" for x in of_sample),
        ],
        restore=[f"work{p}_{k}[:] = kept{p}_{k}[b, start // segment]" for p, k in each_state(plan)],
        keep=[f"old{p}_{k}[c, t] = work{p}_{k}" for p, k in each_state(plan)],
        step=step_lines(plan, lambda p, k: f"work{p}_{k}", lambda k: f"sums{k}[c, t]", packs=False),
        reach=[
            *_recorded(plan),
            *_arrived(plan, wanted),
            *(x for p in places for x in _reached(plan, p, wanted)),
        ],
        spikes=_to_spikes(plan),
        adjoint=[line for p in places for line in _adjoint(plan, p, wanted)],
        weights=_to_weights(plan, wanted, "s"),
        before=_before(plan, wanted),
        end=[f"d_init{p}_{k}[b] = back{p}_{k}[c]" for p, k in float_places(plan)],
    )
    share = njit(defined("run_share", ["share", *taken], body, **outside))
    return on_threads("network_backward", taken, share)


def _active(plan: Plan, p: int, wanted: Wanted) -> tuple[int, ...]:
    """Return which inputs of a step, behind its states, have derivatives: receptors, and what is wanted."""
    part = plan.populations[p]
    first = part.neuron.positional
    return tuple(first + k for k, x in enumerate(part.variables) if x or wanted.place(f"given{p}_{k}"))


def _receiving(plan: Plan, p: int, receptor: str) -> int:
    return next(k for k, x in enumerate(plan.sums) if (x.population, x.receptor) == (p, receptor))


def _scratch(plan: Plan, p: int, wanted: Wanted) -> list[str]:
    """Return the lines that make the arrays of a thread for a population."""
    part = plan.populations[p]
    given = [k for k, x in enumerate(part.variables) if not x and wanted.place(f"given{p}_{k}")]
    return [
        *(f"work{p}_{k} = np.empty(size{p}, kept{p}_{k}.dtype)" for k in range(len(part.states))),
        *(f"part{p}_{k} = np.empty(size{p}, kept{p}_0.dtype)" for k in given),
    ]


def _block(plan: Plan, p: int) -> list[str]:
    """Return the lines that make the arrays of a block of samples for a population."""
    part = plan.populations[p]
    lines = [
        f"old{p}_{k} = np.empty((block, segment, size{p}), kept{p}_{k}.dtype)"
        for k in range(len(part.states))
    ]
    lines += [f"back{p}_{k} = c_state{p}_{k}[low:high].copy()" for q, k in float_places(plan) if q == p]
    for k, sums in enumerate(plan.sums):
        if sums.population == p:
            ages = [f"ages{q}.max() + 1" for q, _, _ in sums.projections]
            rows = f"max({', '.join(['1', *ages])})" if ages else "1"
            lines.append(f"ring{k} = np.empty((block, {rows}, size{p}), kept{p}_0.dtype)")
            if not plan.is_state(sums):
                lines.append(f"sums{k} = np.empty((block, segment, size{p}), kept{p}_0.dtype)")
    if has_surrogate(part.neuron):
        lines += [
            f"d_spikes{p} = np.empty((block, size{p}), kept{p}_0.dtype)",
            f"reached{p} = np.empty((block, size{p}), np.bool_)",
        ]
    return lines


def _ring(k: int) -> str:
    return f"ring{k}[c, s % ring{k}.shape[1]]"


def _recorded(plan: Plan) -> list[str]:
    """Return the lines that begin with the cotangents of what is recorded behind a step."""
    lines = [f"d_spikes{p}[c] = 0" for p, part in enumerate(plan.populations) if has_surrogate(part.neuron)]
    for r in float_traces(plan):
        p, key = plan.recorded[r]
        states, row = plan.populations[p].states, f"chosen{r}, c_trace{r}[b, s // every])"
        if key in states:
            lines += ["if (s + 1) % every == 0:", f"    add_at(back{p}_{states.index(key)}[c], {row}"]
        elif has_surrogate(plan.populations[p].neuron):
            lines.append(f"add_at(d_spikes{p}[c], {row}")
    return lines


def _arrived(plan: Plan, wanted: Wanted) -> list[str]:
    """Return the lines for what arrived in states, behind the step."""
    lines: list[str] = []
    for k, sums in enumerate(plan.sums):
        if plan.is_state(sums):
            place = plan.populations[sums.population].states.index(sums.receptor)
            lines += [f"{_ring(k)}[:] = back{sums.population}_{place}[c]", *_values(plan, k, wanted)]
    return lines


def _values(plan: Plan, k: int, wanted: Wanted) -> list[str]:
    found = [(m, wanted.place(f"values{m}")) for m, _ in plan.sums[k].inputs]
    return [f"add_to({place}[s // hold{m}[0]], {_ring(k)})" for m, place in found if place]


def _step_inputs(plan: Plan, p: int) -> list[str]:
    old = [f"old{p}_{k}[c, t]" for k in range(len(plan.populations[p].states))]
    return [*old, *variables(plan, p, lambda k: f"sums{k}[c, t]")]


def _reached(plan: Plan, p: int, wanted: Wanted) -> list[str]:
    """Return the line that finds the neurons through whose spikes derivatives pass, where that is asked."""
    sends = any(source == p for sums in plan.sums for _, source, _ in sums.projections)
    if not (sends and has_surrogate(plan.populations[p].neuron)):
        return []
    return [f"reach{p}((stored_spikes(reached{p}[c]),), {tuple_of(_step_inputs(plan, p))}, 0, size{p})"]


def _to_spikes(plan: Plan) -> list[str]:
    return [
        f"{KIND[count]}_to_spikes({matrix(q, count)}, ages{q}, s, ring{k}, count, reached{source}, "
        f"d_spikes{source})"
        for k, sums in enumerate(plan.sums)
        for q, source, count in sums.projections
        if has_surrogate(plan.populations[source].neuron)
    ]


def _adjoint(plan: Plan, p: int, wanted: Wanted) -> list[str]:
    """Return the lines of the adjoint of a step, and of what arrived in variables."""
    part = plan.populations[p]
    written = [f"back{p}_{k}[c]" for k in float_states(part.neuron)]
    after: list[str] = []
    for place in _active(plan, p, wanted):
        v = place - part.neuron.positional
        if part.variables[v]:
            k = _receiving(plan, p, part.variables[v])
            written.append(_ring(k))
            after += _values(plan, k, wanted)
        else:
            written.append(f"part{p}_{v}")
            after.append(f"add_to({wanted.place(f'given{p}_{v}')}, part{p}_{v})")
    taken = [*_step_inputs(plan, p), *([f"d_spikes{p}[c]"] if has_surrogate(part.neuron) else [])]
    return [f"adjoint{p}({tuple_of(written)}, {tuple_of(taken)}, 0, size{p})", *after]


def _to_weights(plan: Plan, wanted: Wanted, step: str, of: int | None = None) -> list[str]:
    """Return the lines that add to the cotangents of weights for the spikes of a step."""
    found = [
        (k, q, source, count, wanted.place(f"matrix{q}_0"))
        for k, sums in enumerate(plan.sums)
        for q, source, count in sums.projections
        if of in (None, source)
    ]
    return [
        f"{KIND[count]}_to_weights({matrix(q, count)}, ages{q}, bits{source}[b], {step}, ring{k}[c], count, "
        f"listed{source}, size{source}, {place})"
        for k, q, source, count, place in found
        if place
    ]


def _before(plan: Plan, wanted: Wanted) -> list[str]:
    """Return the lines for the spikes before the run, which arrive in it."""
    lines: list[str] = []
    for p in range(len(plan.populations)):
        found = _to_weights(plan, wanted, "s", p)
        lines += [f"for s in range(-lead{p}, 0):", *(f"    {x}" for x in found)] if found else []
    return lines
