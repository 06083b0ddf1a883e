"""The lines of the kernel that step neurons: each warp has the neurons of a word, or of some in turn."""

import math
import re
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.codegen.emit import array_names, body_lines, defined, filled, tables_of, tuple_of
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.network.cuda.division import How
from event_ops.network.cuda.learning import keep_lines, raise_lines
from event_ops.network.plan import Plan
from event_ops.neurons.emit import DividedStep, divided_step
from event_ops.neurons.numba_cuda import shared_names, step_of

_STEP: Final = """\
if time > start:
    {arrive}
    {record}
if time < stop:
    {variables}
    after = stepP({arguments})
    {after}
    bits = lanes_where(is_own and spike)
    if lane == 0:
        fired[(half + time - first_step) * words + word] = bits
        if time >= stop - historyP.shape[0]:
            historyP[time % historyP.shape[0], word - places[P]] = bits
        {keep}
{raised}"""

_NEURONS: Final = """\
for word in range(max(low, places[P]) + thread // WARP, min(high, places[P + 1]), WARPS):
    own = WARP * (word - places[P]) + lane
    is_own, i, now = own < sizeP, np.uint64(min(own, sizeP - 1)), slot
    {zero}
    if is_own:
        {load}
    for time in range(first_step, last_step):
        {step}
        now += 1
        if now >= slots:
            now = np.int64(0)
    if is_own:
        {store}"""

# A warp has one word: its states stay in registers, and what it reads in a step is read ahead.
_RESIDENT: Final = """\
if hasP and first_step < last_step:
    word, i, is_own, time = low + thread // WARP, iP, ownP, first_step
    {step}"""


_POISSON: Final = (
    "amount_of(weight{m}, i, known_poisson(which{m}[i], tables{m}, i, np.uint32({time}), key{m}[0]))"
)
# The amount that an input adds, by its kind: 0 where there is nothing, whatever the weight.
_AMOUNTS: Final = {
    "poisson": _POISSON,
    "pulse": f"({_POISSON} if window{{m}}[0] <= {{time}} < window{{m}}[1] else weight{{m}}.dtype.type(0))",
    "values": "value_at(values{m}, hold{m}[0], {time} - start, i)",
    "spikes": "train_at(weight{m}, train{m}, spans{m}, {time} - start, i)",
}


class Lines:
    """Hold the lines of all populations for the places of a run."""

    def __init__(self) -> None:
        self.begin: list[str] = []
        self.ahead: list[str] = []
        self.neurons: list[str] = []
        self.meanwhile: list[str] = []
        self.end: list[str] = []


def _divided(plan: Plan, p: int) -> DividedStep:
    part = plan.populations[p]
    drawn = [
        f"{name}(np.uint64(origin{p}[0]) + i, {stream}, np.uint32(time), seed{p}[0], table{p})"
        for stream, name in enumerate(part.noise)
    ]
    names = [f"y{k}" for k in range(part.neuron.count)]
    return divided_step(part.neuron, NUMBA_CUDA, names, drawn)


def functions_of(plan: Plan, p: int, lines: Lines) -> dict[str, Any]:
    """Add the lines in front of the loop for a population; return the functions of its step."""
    part, divided = plan.populations[p], _divided(plan, p)
    names = shared_names(divided)
    arrays = {place.removesuffix("[0]"): x for x, place in divided.once.items()}
    first = part.neuron.positional
    given = [f"given{p}_{array_names(part.neuron).index(a) - first}" for a in arrays]
    lines.begin += [f"size{p} = np.int64(state{p}_0.size)"]
    functions = {f"step{p}": step_of(part.neuron, divided)}
    if names:
        text = [
            *body_lines(NUMBA_CUDA, divided.once.items(), divided.shared, ()),
            f"return {tuple_of(names)}",
        ]
        used = {"cuda": cuda, "math": math, "np": np, **tables_of(part.neuron)}
        functions[f"shared_of{p}"] = cuda.jit(device=True)(defined("shared_of", list(arrays), text, **used))
        lines.begin += [f"shared{p} = shared_of{p}({', '.join(given)})"]
    return functions


def neuron_lines(plan: Plan, p: int, how: How, lines: Lines) -> None:
    """Add the lines that step the neurons of a population that are a block's own."""
    part, divided = plan.populations[p], _divided(plan, p)
    neuron = part.neuron
    states = [f"x{p}_{k}" for k in range(len(part.states))]
    values = {f"y{k}[i]": x for k, x in enumerate(states)}
    for k, receptor in enumerate(part.variables):
        own = next(
            (f"sums{j}" for j, x in enumerate(plan.sums) if (x.population, x.receptor) == (p, receptor)), ""
        )
        values[f"{array_names(neuron)[neuron.positional + k]}[i]"] = own if receptor else f"given{p}_{k}[i]"
    arguments = [values.get(place, place) for place in divided.loads.values()]
    arguments += [f"shared{p}[{k}]" for k in range(len(shared_names(divided)))]
    zero = [f"{x} = state{p}_{k}.dtype.type(0)" for k, x in enumerate(states)]
    load = [f"{x} = state{p}_{k}[i]" for k, x in enumerate(states)]
    store = [f"state{p}_{k}[i] = {x}" for k, x in enumerate(states)]
    arrive, variables, ahead, meanwhile = [], [], [], []
    for j, sums in ((j, x) for j, x in enumerate(plan.sums) if x.population == p):
        is_state = plan.is_state(sums)
        y = f"x{p}_{part.states.index(sums.receptor)}" if is_state else f"sums{j}"
        time = "time - 1" if is_state else "time"
        amounts = {m: _AMOUNTS[kind].format(m=m, time="{0}") for m, kind in sums.inputs}
        added = [f"{y} += {x.format(time)}" for x in amounts.values()]
        place = f"pulled{j}[thread]" if how.pulled else f"ring{j}[np.uint64(now), i]"
        if how.resident:
            added = [f"{y} += amount{m}" for m in amounts]
            meanwhile += [
                f"amount{m} = {x.format('last_step - 1' if is_state else 'last_step')}"
                for m, x in amounts.items()
            ]
        if sums.projections:
            got = f"got{j}" if how.resident else place
            added += ["if is_own:", f"    {y} += {got}", f"    {place} = 0"]
            ahead += [f"got{j} = {place}"]
        if is_state:
            arrive += added
        else:
            variables += [f"sums{j} = state{p}_0.dtype.type(0)", *added]
    text = _STEP.replace("{arguments}", ", ".join(arguments))
    step = filled(
        text,
        arrive=arrive or ["pass"],
        record=_recorded(plan, p),
        variables=variables,
        after=[*(f"{x} = after[{k}]" for k, x in enumerate(states)), f"spike = after[{len(states)}]"],
        keep=keep_lines(plan, p),
        raised=raise_lines(plan, p),
    )
    if not how.resident:
        lines.neurons += _of(p, filled(_NEURONS, zero=zero, load=load, step=step, store=store))
        return
    begin = [
        "hasP = low + thread // WARP < min(high, places[P + 1]) and low + thread // WARP >= places[P]",
        "own = WARP * (low + thread // WARP - places[P]) + lane",
        "ownP, iP = hasP and own < sizeP, np.uint64(max(min(own, sizeP - 1), 0))",
        "i = iP",
        *load,
        *(
            f"amount{m} = state{p}_0.dtype.type(0)"
            for x in plan.sums
            if x.population == p
            for m, _ in x.inputs
        ),
        *(
            f"got{j} = {f'pulled{j}[thread]' if how.pulled else f'ring{j}[0, 0]'}"
            for j, x in enumerate(plan.sums)
            if x.population == p and x.projections
        ),
    ]
    lines.begin += _of(p, begin)
    own = ["i = iP"]
    lines.ahead += _of(p, ["if ownP:", *(f"    {x}" for x in ["now = slot", *own, *ahead])]) if ahead else []
    lines.meanwhile += _of(p, ["if hasP:", *(f"    {x}" for x in [*own, *meanwhile])]) if meanwhile else []
    lines.neurons += _of(p, filled(_RESIDENT, step=["now = slot", *step]))
    lines.end += _of(p, ["if ownP:", *(f"    {x}" for x in [*own, *store])])


def _of(p: int, lines: list[str]) -> list[str]:
    """Return the lines with the number of a population for P."""
    return [re.sub(r"(?<=[a-z])P\b|\bP\b", str(p), line) for line in lines]


def _recorded(plan: Plan, p: int) -> list[str]:
    """Return the lines that record the states of a neuron, behind a step."""
    states = plan.populations[p].states
    return [
        line
        for r, (population, key) in enumerate(plan.recorded)
        if population == p
        for line in [
            "if (time - start) % every[0] == 0 and is_own:",
            f"    for k in range(begins{r}[i], begins{r}[i + np.uint64(1)]):",
            f"        trace{r}[(time - start) // every[0] - 1, order{r}[k]] = x{p}_{states.index(key)}",
        ]
    ]
