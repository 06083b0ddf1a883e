"""Measure a balanced network beside other simulators, for `suites/test_cuba.py` and `suites/test_coba.py`."""

import dataclasses
import functools

from event_ops_harness.bench import options, simulators

SIZES = (4000, 40_000)
NEURON_STEPS = 40_000_000  # per round: about as long at every size


def parametrize(metafunc, rivals):
    """Take each size, each number of cores and each rival."""
    metafunc.parametrize("neurons", options.counts(metafunc.config, "sizes", SIZES))
    metafunc.parametrize("cores", options.counts(metafunc.config, "cores", (1,)))
    metafunc.parametrize("member", [rival.name for rival in rivals])


def steps_for(neurons):
    return max(200, min(10_000, NEURON_STEPS // neurons))


def rounds_for(neurons, rounds):
    """Take fewer for large networks: Brian2 draws its synapses anew in each round, for a minute there."""
    return rounds if neurons < 200_000 else min(rounds, 3)


@functools.lru_cache(maxsize=1)
def group_of(network, rivals, neurons, cores, python, rounds):
    """Measure those simulators of a network; `rate` is spikes per neuron and second, in Hz."""
    steps = steps_for(neurons)
    request = {"network": network.name, "neurons": neurons, "steps": steps, "seed": 1, "threads": cores}
    request["model"] = dataclasses.asdict(network.model)
    jobs = [(rival, request) for rival in rivals]
    group = simulators.measure(jobs, python, rounds_for(neurons, rounds))
    neuron_seconds = neurons * steps * network.model.dt * 1e-3
    return simulators.with_rates(group, neuron_seconds)


def report(in_turns, benchmark, request, network, rivals, neurons, cores, member):
    """Measure what is asked for, once for all members of a group, and report one of them."""
    benchmark.group = f"{neurons:,} neurons" + (f", {cores} cores" if cores > 1 else "")
    python = options.option(request.config, "rivals_python", simulators.rivals_python())
    chosen = simulators.chosen(rivals, request)
    group = group_of(network, chosen, neurons, cores, python, in_turns.rounds)
    theirs = [rival.name for rival in rivals if not rival.ours]
    in_turns.report(group, member, rivals=theirs, info={"neurons": neurons, "size": neurons})
