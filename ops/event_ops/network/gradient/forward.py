"""The kernel of a run that is differentiated: it keeps the spikes of all steps, and the states of some."""

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.codegen.emit import defined, filled
from event_ops.kernels.numba_cpu import access
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network import loops as loops_of_run
from event_ops.network.gradient import loops
from event_ops.network.gradient.source import each_state, hoisted, step_lines
from event_ops.network.plan import Plan
from event_ops.neurons.numba_cpu import step_range

_KEPT: Final = 1024  # plans
MODULES: Final = loops, loops_of_run, access
_SHARE: Final = """\
count, every, segment, shares = numbers[0], numbers[1], numbers[2], numbers[3]
{begin}
for b in range(share, begin.size, shares):
    found = np.int64(0)
    {first}
    for s in range(count):
        now = np.int32(begin[b] + s)
        if s % segment == 0:
            {keep}
        {step}
        {log}
        {record}
    {end}
    num_spikes[b] = end_record(found, first[POPULATIONS], times[b], ids[b])"""


def outputs(plan: Plan) -> list[str]:
    """Return the names of all outputs: those of a run, then what a run backwards reads."""
    populations = range(len(plan.populations))
    return [
        *(f"state{p}_{k}" for p, k in each_state(plan)),
        *(f"end{p}" for p in populations),
        *("times", "ids", "num_spikes"),
        *(f"trace{r}" for r in range(len(plan.recorded))),
        *residuals(plan),
    ]


def residuals(plan: Plan) -> list[str]:
    """Return the names of what a run backwards reads: the spikes, and the states at the ends of segments."""
    populations = range(len(plan.populations))
    return [*(f"bits{p}" for p in populations), *(f"kept{p}_{k}" for p, k in each_state(plan))]


@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...]) -> Any:
    """Return the kernel of a plan, of arrays with these names, then its outputs."""
    places, states = range(len(plan.populations)), each_state(plan)
    variables = [(k, x.population) for k, x in enumerate(plan.sums) if not plan.is_state(x)]
    record: list[str] = []
    for r, (p, key) in enumerate(plan.recorded):
        row = f"chosen{r}, trace{r}[b, s // every], 0, size{p})"
        if key in plan.populations[p].states:
            k = plan.populations[p].states.index(key)
            record += ["if (s + 1) % every == 0:", f"    record_state(state{p}_{k}[b], {row}"]
        else:
            record += [f"count_spikes(s % every == 0, spikes{p}, {row}"]
    body = filled(
        _SHARE.replace("POPULATIONS", str(len(places))),
        begin=[
            *(line for p in places for line in hoisted(plan, p)),
            *(f"sums{k} = in_lines(size{p}, kept{p}_0)" for k, p in variables),
        ],
        first=[
            *(f"state{p}_{k}[b] = init{p}_{k}[b]" for p, k in states),
            *(f"read_history(history{p}[b], begin[b], bits{p}[b], lead{p})" for p in places),
        ],
        keep=[f"kept{p}_{k}[b, s // segment] = state{p}_{k}[b]" for p, k in states],
        step=step_lines(plan, places, lambda p, k: f"state{p}_{k}[b]", lambda k: f"sums{k}", is_first=True),
        log=[
            f"found = list_step(bits{p}[b, lead{p} + s], size{p}, first[{p}], now, found, times[b], ids[b], "
            f"listed{p})"
            for p in places
        ],
        record=record,
        end=[f"write_history(end{p}[b], begin[b] + count, bits{p}[b])" for p in places],
    )
    taken = [*names, *outputs(plan)]
    steps = {f"step{p}": step_range(x.neuron) for p, x in enumerate(plan.populations)}
    share = njit(defined("run_share", ["share", *taken], body, *MODULES, np=np, **steps))
    return on_threads("network_forward", taken, share)


def on_threads(name: str, taken: list[str], share: Any) -> Any:
    """Return the kernel that has each thread do a share of the samples."""
    # Values and a signed number, so that a share is compiled once: see `_ON_THREADS` in network/numba_cpu.py.
    body = [f"{x} = hoist({x})" for x in taken if x.startswith("given")]
    body += ["for share in prange(numbers[3]):", f"    run_share(np.int64(share), {', '.join(taken)})"]
    return njit(parallel=True)(defined(name, taken, body, access, run_share=share, np=np, prange=prange))
