"""Time a step of training by exact gradients beside surrogate gradients of a scan in JAX, and their memory.

700 inputs, of which 3 % spike in a step, recurrent LIF neurons with a current that decays, 20 readouts, 250
steps of 1 ms: the loss, a cross entropy of mean potentials, and its gradient in all weights. "JAX scan" is
written as one would: dense products of spikes in a `jax.lax.scan`, differentiated by JAX. Both have float32,
the same weights and inputs, and nearly the same loss, as one rounds times of spikes to steps.

Each figure is a fresh process's, in turns: the median of some calls, and the resident bytes at most during
the first, beyond those before it. Measured through /proc, so on Linux only. Not measured: compilation, a GPU.

`--sizes` are the neurons. `extra_info`: MiB at the peak, the rate of spikes, and the loss.
"""

import functools
import itertools
from pathlib import Path
from statistics import median

import pytest

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import RETURNS_MEMORY, ask, group_of, take_turns
from event_ops_harness.bench.workers.exact_gradients import SCAN, WAYS

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs: measured on Linux only"
)
SIZES = (256, 1024)
BATCHES = (32, 128)


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SIZES)
    metafunc.parametrize(("neurons", "batch", "member"), list(itertools.product(sizes, BATCHES, WAYS)))


@functools.cache
def group(neurons, batch, rounds):
    asked = {"neurons": neurons, "batch": batch}
    jobs = {x: functools.partial(ask, "exact_gradients", asked | {"member": x}, RETURNS_MEMORY) for x in WAYS}
    answers, failed = take_turns(jobs, rounds)
    losses = [answer[0]["loss"] for answer in answers.values()]
    if len(losses) == len(WAYS) and max(losses) > 1.1 * min(losses):
        failed |= {SCAN: f"failed: its loss is another one: {losses}"}
    return group_of(answers, failed, lambda each: each["seconds"], read)


def read(rounds):
    return {
        "MiB": median(each["bytes"] for each in rounds) / 2**20,
        "rate": rounds[0]["rate"],
        "loss": rounds[0]["loss"],
    }


def test_training(in_turns, benchmark, neurons, batch, member):
    benchmark.group = f"{neurons} neurons, {batch} samples"
    in_turns.report(group(neurons, batch, in_turns.rounds), member, rivals=[SCAN])
