"""Measure simulators side by side, each in a separate process, in turns."""

import dataclasses
import functools
import json
import os
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import take_turns
from event_ops_harness.bench.interleaved import Group
from event_ops_harness.bench.plugin import InTurns
from event_ops_harness.networks.balanced.steps import BalancedNetwork
from event_ops_harness.networks.rivals import RIVALS
from event_ops_harness.networks.shared.rivals import Rival, Worker

Request = dict[str, Any]


def rivals_python() -> str:
    """Return the Python that has the simulators: $CUBA_RIVALS_PYTHON, else this one."""
    return os.environ.get("CUBA_RIVALS_PYTHON", sys.executable)


def measure(jobs: Sequence[tuple[Rival, Request]], python: str, rounds: int, *, per: str = "steps") -> Group:
    """Start all, run each once to warm up, then `rounds` times in turns, forwards and backwards.

    A round simulates the `steps` of a request; `seconds` are those of one step, or, per "spikes", of one
    spike. `info` has the threads, the versions and settings that a worker says, and what it found in its last
    round, but the mean `spikes` of all.
    """
    requests = {rival.name: request for rival, request in jobs}
    with ExitStack() as stack:

        def start(rival: Rival, request: Request) -> Worker:
            return stack.enter_context(closing(Worker(rival, python, request)))

        started, absent = take_turns({job[0].name: functools.partial(start, *job) for job in jobs}, 1)
        workers = {name: worker for name, (worker,) in started.items()}
        results, failed = take_turns({name: worker.run for name, worker in workers.items()}, rounds + 1)
    return Group(
        {
            name: [x["seconds"] / (requests[name] | x)[per] for x in runs[1:]]
            for name, runs in results.items()
        },
        {name: _info(requests[name], workers[name], runs[1:]) for name, runs in results.items()},
        skipped=absent | failed,
    )


def _info(request: Request, worker: Worker, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    versions = {name: version for name, version in worker.versions.items() if isinstance(version, str)}
    settings = {name: version for name, version in worker.versions.items() if name not in versions}
    counted = {name: figure for name, figure in runs[-1].items() if name != "seconds"}
    counted["spikes"] = statistics.mean(run["spikes"] for run in runs)
    return {"threads": request["threads"], **settings, **counted, "versions": versions}


@functools.lru_cache(maxsize=1)
def _rates(
    rivals: tuple[Rival, ...], encoded: str, neurons: int, python: str, rounds: int, per: str
) -> Group:
    """Measure these simulators, with `rate`, spikes per neuron and second, in Hz."""
    request = json.loads(encoded)
    group = measure([(rival, request) for rival in rivals], python, rounds, per=per)
    neuron_seconds = neurons * request["steps"] * request["model"]["dt"] * 1e-3
    rates = {name: {**said, "rate": said["spikes"] / neuron_seconds} for name, said in group.info.items()}
    return dataclasses.replace(group, info=rates)


def report(
    in_turns: InTurns, request: Any, task: Request, neurons: int, *, rounds: int | None = None,
    per: str = "steps", **info: Any,
) -> None:  # fmt: skip
    """Report the simulator of a test, `member`; all that are to run are measured when the first is reported.

    Args:
        task: what their workers are told: network, model, steps, seed, threads.
        neurons: of the network.
        rounds: by default those that were asked for.
        per: whether times are those of "steps" or of "spikes".
        info: more for the file, beside the number of neurons.
    """
    rivals, names = RIVALS[task["network"]], options.selected(request)
    chosen = tuple(rival for rival in rivals if rival.name in names)
    python = options.option(request.config, "rivals_python", rivals_python())
    # As JSON, since a cache needs arguments that have a hash.
    group = _rates(chosen, json.dumps(task), neurons, python, rounds or in_turns.rounds, per)
    member = request.node.callspec.params["member"]
    foreign = [rival.name for rival in rivals if not rival.ours]
    in_turns.report(group, member, rivals=foreign, info={"neurons": neurons, **info})


def parametrize(metafunc: Any, network: str, sizes: dict[str, list[Any]]) -> None:
    """Take each size, each number of cores and each rival of a network."""
    for name, values in sizes.items():
        metafunc.parametrize(name, values)
    metafunc.parametrize("cores", options.counts(metafunc.config, "cores", (1,)))
    metafunc.parametrize("member", [rival.name for rival in RIVALS[network]])


def of_cores(cores: int) -> str:
    """Return the end of the name of a group."""
    return f", {cores} cores" if cores > 1 else ""


NEURON_STEPS = 40_000_000  # per round: about as long at every size


def steps_for(neurons: int) -> int:
    """Return the steps of a round of a balanced network."""
    return max(200, min(10_000, NEURON_STEPS // neurons))


def rounds_for(neurons: int, rounds: int) -> int:
    """Take fewer for large networks: Brian2 draws its synapses anew in each round, for a minute there."""
    return rounds if neurons < 200_000 else min(rounds, 3)


def report_balanced(
    in_turns: InTurns, benchmark: Any, request: Any, network: BalancedNetwork, cores: int
) -> None:
    """Report the simulator of a test of a balanced network, of as many neurons as the test says."""
    neurons = request.node.callspec.params["neurons"]
    benchmark.group = f"{neurons:,} neurons" + of_cores(cores)
    task = {"network": network.name, "neurons": neurons, "steps": steps_for(neurons), "seed": 1}
    task |= {"threads": cores, "model": dataclasses.asdict(network.model)}
    report(in_turns, request, task, neurons, rounds=rounds_for(neurons, in_turns.rounds), size=neurons)
