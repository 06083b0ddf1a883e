"""Time a step of training, value and gradient, beside scans in JAX, and read its memory.

Both kinds have 700 inputs, recurrent neurons, 20 readouts, 250 steps of 1 ms, and a cross entropy of mean
potentials. "surrogate": LIF neurons that learn words, whose run is one call each way; "JAX scan" is written
as one would, dense products of spikes in a `jax.lax.scan`. "exact": LIF neurons with a current that decays,
by EventProp; its loss is nearly that of the scan, as the scan rounds times of spikes to steps.

Each figure is a fresh process's, in turns: the median of some calls, and the resident bytes at most during
the first, beyond those before it. Measured through /proc, so on Linux only. Not measured: compilation, a GPU.

`--sizes` are the neurons. `extra_info`: MiB at the peak, the loss, and of "exact" the rate of spikes.
"""

import functools
import itertools
from pathlib import Path
from statistics import median

import pytest

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import RETURNS_MEMORY, ask, group_of, take_turns
from event_ops_harness.bench.workers.training import WAYS
from event_ops_harness.networks.trained.network import JAX_SCAN

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs: measured on Linux only"
)
SIZES = (256, 1024)
BATCHES = (32, 128)


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SIZES)
    cells = itertools.product(WAYS, sizes, BATCHES)
    metafunc.parametrize(
        ("kind", "neurons", "batch", "member"), [(*cell, x) for cell in cells for x in WAYS[cell[0]]]
    )


@functools.cache
def group(kind, neurons, batch, rounds):
    asked = {"kind": kind, "neurons": neurons, "batch": batch}
    ways = WAYS[kind]
    jobs = {x: functools.partial(ask, "training", asked | {"member": x}, RETURNS_MEMORY) for x in ways}
    answers, failed = take_turns(jobs, rounds)
    losses = [answer[0]["loss"] for answer in answers.values()]
    if len(losses) == len(ways) and max(losses) > 1.1 * min(losses):
        failed |= {JAX_SCAN: f"failed: its loss is another one: {losses}"}
    return group_of(answers, failed, lambda each: each["seconds"], read)


def read(rounds):
    first = rounds[0]
    about = {"MiB": median(each["bytes"] for each in rounds) / 2**20, "loss": first["loss"]}
    return about | ({"rate": first["rate"]} if first["rate"] else {})


def test_training(in_turns, benchmark, kind, neurons, batch, member):
    benchmark.group = f"{kind}, {neurons} neurons, {batch} samples"
    rivals = [x for x in WAYS[kind] if "scan" in x]
    in_turns.report(group(kind, neurons, batch, in_turns.rounds), member, rivals=rivals)
