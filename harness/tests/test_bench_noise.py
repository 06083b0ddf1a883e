"""Noise intervals and fresh processes say what they should of made-up figures."""

import itertools

import numpy as np
import pytest
import scipy.stats

from event_ops_harness.bench import fresh, noise
from event_ops_harness.bench.noise import change_of
from event_ops_harness.networks.shared.rivals import WorkerError


@pytest.mark.parametrize(("m", "n"), [(3, 4), (6, 6), (5, 2)])
def test_counts_are_those_of_every_arrangement(m: int, n: int):
    counts = [0] * (m * n + 1)
    for chosen in itertools.combinations(range(m + n), m):
        counts[sum(place - i for i, place in enumerate(chosen))] += 1
    assert [noise._count(m, n, u) for u in range(m * n + 1)] == counts
    assert noise._count(m, n, m * n + 1) == 0


def test_interval_is_the_one_of_the_mann_whitney_test():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.lognormal(0, 0.1, 6), rng.lognormal(0.1, 0.1, 6)
        found = change_of(a.tolist(), b.tolist(), 0.05)
        p = scipy.stats.mannwhitneyu(a, b, method="exact").pvalue
        assert (found.verdict != "same") == (p <= 0.05)


def test_of_many_times_the_interval_is_that_of_a_normal_distribution():
    rng = np.random.default_rng(0)
    counted = change_of(*rng.lognormal(0, 0.1, (2, 30)).tolist(), 0.05)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(noise, "_EXACT", 0)
        normal = change_of(*np.random.default_rng(0).lognormal(0, 0.1, (2, 30)).tolist(), 0.05)
    assert (normal.low, normal.high) == pytest.approx((counted.low, counted.high), rel=0.01)
    assert change_of(*rng.lognormal(0, 0.1, (2, 300)).tolist(), 0.05).low < 1


def test_noise_is_seldom_a_change():
    rng = np.random.default_rng(1)
    verdicts = [change_of(*rng.lognormal(0, 0.2, (2, 6)).tolist(), 0.05).verdict for _ in range(400)]
    assert 0 < sum(verdict != "same" for verdict in verdicts) < 0.08 * 400


def test_small_alpha_asks_for_complete_separation():
    before = [1.0, 1.1, 1.2, 1.3]
    assert change_of(before, [1.31, 1.4, 1.5, 1.6], 1e-6).verdict == "slower"
    assert change_of(before, [1.29, 1.4, 1.5, 1.6], 1e-6).verdict == "same"
    assert change_of([1.31, 1.4, 1.5, 1.6], before, 1e-6).verdict == "faster"


def test_turns_alternate_and_failures_leave_the_others():
    order: list[str] = []

    def job(name: str, fails: bool = False) -> fresh.Answer:
        order.append(name)
        if fails:
            raise WorkerError("no such library")
        return {"turn": len(order)}

    jobs = {"a": lambda: job("a"), "b": lambda: job("b", True), "c": lambda: job("c")}
    found, failed = fresh.take_turns(jobs, 3)
    assert order == ["a", "b", "c", "c", "a", "a", "c"]
    assert list(found) == ["a", "c"] and len(found["a"]) == 3 and failed == {"b": "no such library"}


def test_a_process_that_fails_says_why():
    with pytest.raises(WorkerError, match="No module named 'no_such_module'"):
        fresh.ask("cold", {"modules": ["no_such_module"]})


def test_environment_of_a_process_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, str] = {}

    def run(words, env, **_):
        seen.update(env)
        return type("Done", (), {"returncode": 0, "stdout": 'a banner\n{"x": 1}\n', "stderr": ""})

    monkeypatch.setattr(fresh.subprocess, "run", run)
    monkeypatch.setenv("TO_GO", "1")
    assert fresh.ask("cold", {}, {"TO_GO": None, "TO_COME": "2"}) == {"x": 1}
    assert seen["TO_COME"] == "2" and "TO_GO" not in seen
