"""The kernel of the gradient of a run: its steps backwards, from the cotangents of its results."""

from functools import lru_cache
from typing import Any, Final

import numpy as np

from event_ops.codegen.emit import defined, filled
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network.gradient import transposes
from event_ops.network.gradient.adjoint import adjoint_of, has_surrogate, reach_of
from event_ops.network.gradient.forward import MODULES, on_threads
from event_ops.network.gradient.lines import Backwards, Wanted, float_places, float_traces
from event_ops.network.gradient.source import step_lines
from event_ops.network.plan import Plan
from event_ops.neurons.numba_cpu import step_range

_KEPT: Final = 1024  # plans
MOST_TOGETHER: Final = 16  # samples of a block
# A block of samples goes step by step together, so that a row of weights is read from memory once for all.
_SHARE: Final = """\
count, every, segment, shares, together = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
{begin}
for low in range(share * together, begin.size, shares * together):
    high = min(low + together, begin.size)
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
    {before}
    for c in range(block):
        b = low + c
        {end}"""


def cotangents(plan: Plan) -> list[str]:
    """Return the names of the cotangents of results."""
    return [*(f"c_state{p}_{k}" for p, k in float_places(plan)), *(f"c_trace{r}" for r in float_traces(plan))]


@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...], wanted: Wanted) -> Any:
    """Return the kernel of a plan, of arrays with these names, then a derivative for each that is wanted."""
    back, outside = Backwards(plan, wanted), {"np": np}
    taken = [*names, *(f"d_{name}" for name, _ in wanted.names)]
    live, places = sorted(back.live), range(len(plan.populations))
    for p in live:
        neuron, active = plan.populations[p].neuron, back.active(p)
        outside[f"step{p}"] = step_range(neuron)
        outside[f"adjoint{p}"] = step_range(adjoint_of(neuron, active))
        if has_surrogate(neuron):
            outside[f"reach{p}"] = step_range(reach_of(neuron, active))
    body = filled(
        _SHARE,
        begin=[
            *back.hoisted(),
            *(line for p in live for line in back.scratch(p)),
            *(f"d_{name}[share] = 0" for name, is_each in wanted.names if not is_each),
        ],
        block=[
            *(line for p in live for line in back.of_block(p)),
            *(f"d_{name}[low:high] = 0" for name, is_each in wanted.names if is_each),
        ],
        restore=[f"work{p}_{k}[:] = kept{p}_{k}[b, start // segment]" for p, k in back.states],
        keep=[f"old{p}_{k}[c, t] = work{p}_{k}" for p, k in back.states],
        step=step_lines(plan, live, lambda p, k: f"work{p}_{k}", lambda k: f"sums{k}[c, t]", is_first=False),
        reach=[*back.recorded(), *back.arrived(), *(x for p in live for x in back.reached(p))],
        spikes=back.to_spikes(),
        adjoint=[line for p in live for line in back.adjoint(p)],
        weights=[line for p in places for line in back.to_weights(p, "start", "stop - start")],
        before=[line for p in places for line in back.to_weights(p, f"-lead{p}", f"lead{p}")],
        end=[
            f"d_init{p}_{k}[b] = back{p}_{k}[c]"
            for p, k in float_places(plan)
            if wanted.place(f"init{p}_{k}")
        ],
    )
    share = njit(defined("run_share", ["share", *taken], body, transposes, *MODULES, **outside))
    return on_threads("network_backward", taken, share)
