"""The benchmark of the microcircuit says what follows from its times, and where the time goes."""

from collections import defaultdict

import pytest
from other_pytest import run_benchmark

from event_ops_harness.bench.suites import test_microcircuit as suite
from event_ops_harness.networks.rivals import NEST, OURS


@pytest.fixture(autouse=True)
def no_curves(monkeypatch):
    monkeypatch.setattr(suite, "CURVES", defaultdict(dict))


def test_exponents_are_those_of_the_times():
    for member, times in (("ours", [1, 4, 16]), ("NEST", [1, 2, 4])):
        synapses = [100 * 4**i for i in range(3)]
        found = [suite.grown(member, 1, n, t, last=n == 1600) for n, t in zip(synapses, times, strict=True)]
        assert found[:2] == [{}, {}]
        assert found[2]["exponent"] == pytest.approx({"ours": 1, "NEST": 0.5}[member])


def test_efficiency_is_that_of_the_same_simulator_and_scale():
    given = [("ours", 1, 100, 2.0), ("ours", 1, 400, 8.0), ("ours", 2, 100, 1.0), ("ours", 2, 400, 5.0)]
    found = [suite.grown(*one, last=False) for one in [*given, ("NEST", 2, 100, 7.0)]]
    assert [x.get("efficiency") for x in found] == [None, None, 1.0, 0.8, None]


def test_nest_gets_the_threads_that_it_asks_for():
    full = suite.model_of(1)
    assert [suite.threads_of(rival, full, 2) for rival in (OURS, NEST)] == [2, 4]
    assert suite.threads_of(NEST, suite.model_of(0.1), 2) == 2


def test_shares_are_of_the_step_and_of_what_the_triad_moves():
    seconds = {"step": [12e-6], "delivery": [6e-6], "background": [2e-6], "neurons": [3e-6], "rest": [1e-6]}
    found = suite.shares(seconds, {"neurons": 6e3, "delivery": 1e3, "background": 4e3}, triad=1e9)
    assert set(found) == set(suite.PARTS_OF_A_STEP) and found["step"]["of_step"] == 1
    assert sum(found[name]["of_step"] for name in suite.PARTS_OF_A_STEP[1:]) == pytest.approx(1)
    assert [found[name]["share"] for name in suite.PARTS_OF_A_STEP] == pytest.approx(
        [11 / 12, 1 / 6, 2, 2, 0]
    )


@pytest.mark.slow
def test_result_file(tmp_path):
    pytest.importorskip("numba", reason="the rows of the network are drawn by Numba")
    words = ["microcircuit", "--sizes", "0.01,0.015,0.02", "--cores", "1", "--seconds", "0.05"]
    words += ["--benchmark-min-rounds", "2", "-k", "event-ops or parts"]
    _, result = run_benchmark(tmp_path / "found.json", *words)
    entries = {(x["group"], x["name"]): x for x in result["benchmarks"]}
    whole = [entries[f"scale {scale:g}, 1 core", "event-ops"] for scale in (0.01, 0.015, 0.02)]
    assert ["exponent" in x["extra_info"] for x in whole] == [False, False, True]
    factor = whole[0]["extra_info"]["real_time_factor"]
    assert factor == pytest.approx(whole[0]["stats"]["median"] / 1e-4, rel=1e-3)
    for scale in (0.01, 0.015, 0.02):
        parts = {
            name: entries[f"parts of a step, scale {scale:g}, 1 core", name] for name in suite.PARTS_OF_A_STEP
        }
        step, *others = (parts[name]["stats"]["data"] for name in suite.PARTS_OF_A_STEP)
        assert step == pytest.approx([sum(x) for x in zip(*others, strict=True)], rel=1e-2)
        # V_m, refractory and spikes alone.
        assert parts["neurons"]["extra_info"]["bytes"] > 17 * 771
    assert result["command"].startswith("nox -s bench -- microcircuit --sizes 0.01,0.015,0.02")
