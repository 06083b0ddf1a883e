"""Tests of another pytest: groups to time in turns, on a clock that noise and a slower machine move."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from event_ops_harness.bench import timing
from event_ops_harness.bench.interleaved import Group
from event_ops_harness.bench.timing import Steps

NOW, NOISE = [0.0], np.random.default_rng(0)
timing.time = SimpleNamespace(perf_counter=lambda: NOW[0], sleep=lambda seconds: None)
TRIAD = SimpleNamespace(bytes_per_second=lambda footprint: 5e9, beyond_cache=lambda: 0)
sys.modules["event_ops_harness.bench.traffic"] = TRIAD


def takes(seconds, values):
    def work():
        NOW[0] += seconds * NOISE.lognormal(0, 0.3) * (1 + NOW[0])  # on a busy machine, which slows down
        return values

    return work


ONES = np.ones(3)
ALIKE = {"mine": takes(0.01, ONES), "theirs": takes(0.01, ONES)}
SLOW = {"mine": takes(0.02, ONES), "theirs": takes(0.01, ONES), "NumPy": takes(0.04, ONES)}
WRONG = {"mine": takes(0.01, ONES), "theirs": takes(0.01, 0 * ONES)}


@pytest.mark.parametrize("member", ALIKE)
def test_alike(in_turns, member):
    in_turns(ALIKE, member)


@pytest.mark.benchmark(group="slow products")
@pytest.mark.parametrize("member", SLOW)
def test_slow(in_turns, member):
    assert in_turns(SLOW, member).sum() == 3


@pytest.mark.parametrize("member", WRONG)
def test_wrong(in_turns, member):
    in_turns(WRONG, member)


def loop(values):
    def run(steps):
        NOW[0] += 1e-3 * steps
        return values

    return run


LOOPS = {
    "mine": Steps(loop([1.0, 2.0])),
    "words": Steps(loop("1 2"), lambda said: [float(x) for x in said.split()]),
    "nothing to compare": Steps(loop("3"), None),
    "another": Steps(loop([1.0, 3.0])),
}


@pytest.mark.parametrize("member", LOOPS)
def test_loops(in_turns, member):
    in_turns(LOOPS, member, rivals=["words"], info={"bytes": 10_000})


PROCESSES = Group(
    {"mine": [2.0, 2.1, 2.2], "theirs": [1.0, 1.1, 1.2]},
    {"theirs": {"spikes": 7}},
    wrong={"other": "has 9 spikes"},
    skipped={"absent": "is not installed"},
)


@pytest.mark.parametrize("member", ["mine", "theirs", "other", "absent"])
def test_processes(in_turns, member):
    in_turns.report(PROCESSES, member, info={"cores": 2})


OURS = {"reference": takes(0.03, ONES), "kernel": takes(0.01, ONES), "theirs": takes(0.05, ONES)}


@pytest.mark.parametrize("member", OURS)
@pytest.mark.parametrize("rival", ["theirs", "nobody"])
def test_backends(in_turns, member, rival):
    in_turns(OURS, member, rivals=[rival])


ALONE = Group({"theirs": [1.0, 1.1]}, skipped={"mine": "cannot start"})
PARTS = Group({"whole": [2.0, 2.1], "part": [1.0, 1.1]})


@pytest.mark.parametrize(("group", "member"), [("ALONE", "theirs"), ("PARTS", "whole"), ("PARTS", "part")])
def test_ours(in_turns, group, member):
    in_turns.report(globals()[group], member, rivals=["theirs"] if group == "ALONE" else [])


def test_unknown(in_turns):
    with pytest.raises(KeyError, match="'who' is none of the members: mine, theirs"):
        in_turns(ALIKE, "who")
    in_turns(ALIKE, "mine")
