"""Time programs of BrainEvent with the catalog as its backend beside the same programs without it.

BrainEvent's functions are called in a compiled loop, with float32 weights, 80 entries in each row, 1 % of
events active: one step is 20 calls. Networks are those of `bench/brainstate_networks.py`, written for
brainstate and BrainPy; one step is 100 steps of 0.1 ms, from the same state in both. "event-ops" is the
program under `event_ops.brainevent.installed()`, "BrainEvent" the one with its own default backend, Numba.

Not measured: a GPU; weights in 16 bits, which stay BrainEvent's; the first call.

`--sizes` are the neurons of the networks.
"""

import functools

import pytest

from event_ops_harness.bench import options
from event_ops_harness.bench.timing import Steps, repeated

pytest.importorskip("brainevent", reason="brainevent is not installed")
pytest.importorskip("brainpy", reason="BrainPy is not installed")

# Behind the skips, since these import BrainEvent.
from event_ops import brainevent as ours
from event_ops_harness.bench.brainevent_calls import CALLS, loop_of
from event_ops_harness.bench.brainstate_networks import NETWORKS, steps_of

SIZES = (4000, 40_000)
STEPS = 100
MEMBERS = ("event-ops", "BrainEvent")


def pytest_generate_tests(metafunc):
    if "neurons" in metafunc.fixturenames:
        metafunc.parametrize("neurons", options.counts(metafunc.config, "sizes", SIZES))


@functools.lru_cache(maxsize=1)
def members_of(make):
    """Return member -> Steps that `make` compiles, with the catalog installed and without."""
    with ours.installed():
        with_ours = make()
    runs = {"event-ops": with_ours, "BrainEvent": make()}
    return {name: Steps(repeated(run)) for name, run in runs.items()}


@functools.cache
def call(name):
    return functools.partial(loop_of, name)


@functools.cache
def network(name, neurons):
    return functools.partial(steps_of, name, neurons, STEPS)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("name", CALLS)
def test_call(in_turns, benchmark, name, member):
    benchmark.group = name
    in_turns(members_of(call(name)), member, rivals=["BrainEvent"])


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_network(in_turns, benchmark, neurons, name, member):
    if name == "decision" and neurons > 10_000:
        pytest.skip("dense weights of so many neurons do not fit into memory")
    benchmark.group = f"{name}, {neurons:,} neurons"
    in_turns(members_of(network(name, neurons)), member, rivals=["BrainEvent"], info={"neurons": neurons})
