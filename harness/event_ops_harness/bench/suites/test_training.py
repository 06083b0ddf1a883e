"""Time a step of training, value and gradient, beside scans in JAX, and read its memory.

Both kinds have 700 inputs, recurrent neurons, 20 readouts, 250 steps of 1 ms, and a cross entropy of mean
potentials. "surrogate": LIF neurons that learn words, whose run is one call each way; "JAX scan" is written
as one would, dense products of spikes in a `jax.lax.scan`; snnTorch, Norse and spyx have the same layers, run
by `--rivals-python`, each with a surrogate of its own. "exact": LIF neurons with a current that decays,
by EventProp, and "eventprop.neuron" from functions of theirs; the loss is nearly that of the scan,
as the scan rounds times of spikes to steps.

Each figure is a fresh process's, in turns: the median of some calls; in others the resident bytes at most
during the first call, beyond those before it. Measured through /proc, so on Linux only. Not measured:
compilation, a GPU.

`--sizes` are the neurons. `extra_info`: MiB at the peak, the loss, of "exact" the rate of spikes, of other
libraries the version.
"""

import functools
import itertools
import sys
from pathlib import Path

import pytest

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import RETURNS_MEMORY, apart, ask, group_of, take_turns
from event_ops_harness.bench.simulators import rivals_python
from event_ops_harness.bench.workers.training import EXACT, SURROGATE, WAYS
from event_ops_harness.networks.trained.network import JAX_SCAN

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs: measured on Linux only"
)
SIZES = (256, 1024)
BATCHES = (32, 128)
LIBRARIES = {"snnTorch": "torch_training", "Norse": "torch_training", "spyx": "spyx_training"}
CALLS = 5  # of a process, of which the median counts
SAME = {EXACT: 0.1, SURROGATE: 0.02}  # how far losses may be apart
MEMBERS = {EXACT: tuple(WAYS[EXACT]), SURROGATE: (*WAYS[SURROGATE], *LIBRARIES)}
RIVALS = (*LIBRARIES, *(x for ways in WAYS.values() for x in ways if "scan" in x))


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SIZES)
    cells = itertools.product(MEMBERS, sizes, BATCHES)
    metafunc.parametrize(
        ("kind", "neurons", "batch", "member"), [(*cell, x) for cell in cells for x in MEMBERS[cell[0]]]
    )


@functools.cache
def group(kind, neurons, batch, rounds, python):
    asked = {"kind": kind, "neurons": neurons, "batch": batch}

    def jobs(calls, env):
        return {
            x: functools.partial(job, x, asked | {"member": x, "calls": calls}, env) for x in MEMBERS[kind]
        }

    def job(member, request, env):
        is_foreign = member in LIBRARIES
        return ask(LIBRARIES.get(member, "training"), request, env, python if is_foreign else sys.executable)

    answers, failed = take_turns(jobs(CALLS, None), rounds)
    # Memory that goes back to the system at once is counted right, and takes longer to get.
    peaks, lacking = take_turns(jobs(0, RETURNS_MEMORY), 1)
    failed |= lacking
    for member in peaks.keys() & answers.keys():
        answers[member][0]["bytes"] = peaks[member][0]["bytes"]
    failed |= apart(answers, JAX_SCAN, "loss", SAME[kind])
    return group_of(answers, failed, lambda each: each["seconds"], read)


def read(rounds):
    figures = {"MiB": rounds[0]["bytes"] / 2**20}
    return figures | {key: rounds[0][key] for key in ("loss", "rate", "version") if rounds[0].get(key)}


def test_training(in_turns, benchmark, request, kind, neurons, batch, member):
    benchmark.group = f"{kind}, {neurons} neurons, {batch} samples"
    python = options.option(request.config, "rivals_python", rivals_python())
    in_turns.report(group(kind, neurons, batch, in_turns.rounds, python), member, rivals=RIVALS)
