"""Time the cortical microcircuit on our operators beside NEST, per time step of 0.1 ms.

Each simulator runs in a process of its own on as many cores, with as many threads, builds its network once,
simulates one stretch that is not measured, and then one stretch after the other in turns with the other.
Measured is the loop over time steps, not the building, not the compilation; spikes are counted, not recorded.
NEST refuses fewer than 3 threads at full scale: it gets 4 there, on the same cores. "One call" is a run of
the declared network, beside which the other one of ours is a scan of operators.

With the largest of three scales or more, how the time grows with the synapses; where one core is measured
too, the efficiency of more, t1 / (n * tn). Also where the time of our step goes, and how far each part is
from the STREAM triad (`-k parts`; `-k "not parts"` leaves it out).

`--sizes` are scales, of neurons and of the inputs of each, 0.1 by default, and above 1 of neurons alone;
`--cores` 2 by default; `--seconds` the model time of a stretch, 1 by default; rounds are those of
--benchmark-min-rounds.
"""

import contextlib
import dataclasses
import functools
import math
import statistics
import sys
from collections import defaultdict

from event_ops_harness.bench import noise, options, simulators
from event_ops_harness.bench.interleaved import Group
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.rivals import NEST, RIVALS, microcircuit_request
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

SCALES = (0.1,)
CORES = (2,)
SECONDS = 1.0
MAX_CONNECTIONS_PER_THREAD = 134_217_726  # of NEST
PARTS = Rival("parts", ("-m", "event_ops_harness.bench.workers.microcircuit_parts"), ours=True)
PARTS_OF_A_STEP = ("step", "delivery", "background", "neurons", "rest")
CURVES = defaultdict(dict)  # (member, cores) -> synapses -> seconds of a step, of this run


def pytest_generate_tests(metafunc):
    of_parts = metafunc.function is test_parts
    metafunc.parametrize("scale", options.sizes(metafunc.config, "sizes", SCALES))
    metafunc.parametrize("cores", options.counts(metafunc.config, "cores", CORES))
    metafunc.parametrize(
        "member", PARTS_OF_A_STEP if of_parts else [rival.name for rival in RIVALS["microcircuit"]]
    )


def threads_of(rival, model, cores):
    """Return as many as cores, but for NEST as many as it asks for."""
    needed = math.ceil(int(model.synapses.sum()) / MAX_CONNECTIONS_PER_THREAD)
    # A multiple of the cores, so that each has as many threads.
    return cores if rival.ours or needed <= cores else cores * math.ceil(needed / cores)


def model_of(scale):
    return Microcircuit(N_scaling=scale, K_scaling=min(scale, 1))


@functools.lru_cache(maxsize=1)
def group_of(names, scale, cores, seconds, python, rounds):
    """Measure the simulators of these names; `real_time_factor` is wall clock over model time."""
    model = model_of(scale)
    rivals = [rival for rival in RIVALS["microcircuit"] if rival.name in names]
    request = microcircuit_request(model, 1, model.steps(seconds), cores)
    jobs = [(rival, request | {"threads": threads_of(rival, model, cores)}) for rival in rivals]
    group = simulators.measure(jobs, python, rounds)
    factors = {name: statistics.median(each) / (model.dt * 1e-3) for name, each in group.seconds.items()}
    info = {name: {**said, "real_time_factor": factors[name]} for name, said in group.info.items()}
    return dataclasses.replace(group, info=info)


@functools.lru_cache(maxsize=1)
def parts_of(scale, cores, seconds, rounds):
    """Measure the step, and its parts within it, on `cores` cores, in turns after one that is not measured.

    Delivery includes the listing of spikes; rest is what XLA does between the operators. They add up to the
    step, in which clocks are read; `without_clocks` is the step's time without them, as a part of it.
    """
    model = model_of(scale)
    request = microcircuit_request(model, 1, model.steps(seconds), cores)
    try:
        with contextlib.closing(Worker(PARTS, sys.executable, request)) as worker:
            answers = [worker.run() for _ in range(rounds + 1)][1:]
    except WorkerError as error:
        return Group({}, skipped=dict.fromkeys(PARTS_OF_A_STEP, str(error)))
    times = {name: [answer[name] for answer in answers] for name in PARTS_OF_A_STEP}
    info = shares(times, worker.versions["bytes"], worker.versions["triad"])
    without = statistics.median(answer["without_clocks"] / answer["step"] for answer in answers)
    info["step"]["without_clocks"] = without
    return Group(times, info)


def shares(seconds, moved, triad):
    """Return `bytes`, `of_step`, the part of the step's time, and `share`, of the triad's bandwidth."""
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    traffic = {**moved, "step": sum(moved.values()), "rest": 0}
    return {
        name: {
            "bytes": traffic[name],
            "of_step": time / medians["step"],
            "share": traffic[name] / time / triad,
        }
        for name, time in medians.items()
    }


def named(scale, cores):
    return f"scale {scale:g}, {cores} core{'s' if cores > 1 else ''}"


def sizes_of(scale, cores):
    model = model_of(scale)
    synapses = int(model.synapses.sum())
    return {"scale": scale, "neurons": model.neurons, "synapses": synapses, "cores": cores}


def grown(member, cores, synapses, seconds, *, last):
    """Return the efficiency that follows from this time and earlier ones, and at the last the exponent."""
    curve = CURVES[member, cores]
    curve[synapses] = seconds
    alone = CURVES[member, 1].get(synapses)
    figures = {"efficiency": alone / (cores * seconds)} if alone is not None and cores > 1 else {}
    return figures | (noise.exponent(curve) if last else {})


def test_microcircuit(in_turns, benchmark, request, scale, cores, member):
    benchmark.group = named(scale, cores)
    config, sizes = request.config, sizes_of(scale, cores)
    python = options.option(config, "rivals_python", simulators.rivals_python())
    seconds = options.option(config, "seconds", SECONDS)
    group = group_of(options.selected(request), scale, cores, seconds, python, in_turns.rounds)
    in_turns.report(group, member, rivals=[NEST.name], info=sizes)
    last = scale == options.sizes(config, "sizes", SCALES)[-1]
    median = statistics.median(group.seconds[member])
    benchmark.extra_info |= grown(member, cores, sizes["synapses"], median, last=last)


def test_parts(in_turns, benchmark, pytestconfig, scale, cores, member):
    benchmark.group = f"parts of a step, {named(scale, cores)}"
    group = parts_of(scale, cores, options.option(pytestconfig, "seconds", SECONDS), in_turns.rounds)
    in_turns.report(group, member, rivals=(), info={**sizes_of(scale, cores), "threads": cores})
