"""The benchmark of growth fits exponents to the upper sizes; loops by hand compute what operators do."""

from pathlib import Path

import jax
import numpy as np
import pytest
from other_pytest import run_benchmark

from event_ops.discover import operators
from event_ops_harness.bench import noise, options
from event_ops_harness.bench.steps import Problem, make_problem
from event_ops_harness.bench.suites import test_scaling as scaling

OPERATORS = {operator.name: operator for operator in operators()}
ENTRIES, SPIKES, NEURONS = scaling.SERIES


def problem_of(series: str, size: int) -> Problem:
    return make_problem(OPERATORS[scaling.SERIES[series][0]], scaling.case_of(series, size))


def test_sizes_are_what_they_say():
    data, indices, indptr, v = problem_of(ENTRIES, 3000).args
    assert data.size == indices.size == indptr[-1] == 3000 and v.size == 30
    *_, events = problem_of(SPIKES, 17).args
    assert events.sum() == 17 and events.size == scaling.NEURONS
    assert [x.size for x in problem_of(NEURONS, 50).args] == [50, 50, 50]
    assert all(len(sizes) >= 5 for *_, sizes in scaling.SERIES.values())


def test_spikes_differ_from_step_to_step_and_are_as_many():
    bank = problem_of(SPIKES, 17).bank
    assert set(bank.sum(axis=1)) == {17} and (bank[0] != bank[1]).any()


def test_product_by_hand_is_the_operator():
    by_hand = pytest.importorskip("event_ops_harness.bench.rivals.by_hand", reason="Numba is not installed")
    data, indices, indptr, v = problem_of(ENTRIES, 3000).args
    y = by_hand.matvec(data, indices, indptr, v)
    expected = OPERATORS["csr_matvec"].function(data, indices, indptr, v, shape=(30, 30), backend="reference")
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_neurons_by_hand_do_what_the_operator_does():
    by_hand = pytest.importorskip("event_ops_harness.bench.rivals.by_hand", reason="Numba is not installed")
    problem = problem_of(NEURONS, 300)
    V, held, I_syn = map(np.copy, problem.args)
    spikes, count = np.zeros(300, bool), 0
    values = dict(problem.kwargs)
    decay = np.exp(-values["dt"] / values["tau_m"])
    names = ("E_L", "V_th", "V_reset", "t_ref", "dt")
    parameters = tuple(map(np.float32, (decay, *(values[name] for name in names))))
    state = problem.args
    step = jax.jit(
        lambda *state: OPERATORS["lif_step"].function(*state, backend="reference", **problem.kwargs)
    )
    for _ in range(120):
        *new, expected = step(*state)
        state = (*new, I_syn)
        by_hand.lif(V, held, I_syn, spikes, parameters, 1)
        np.testing.assert_array_equal(spikes, expected)
        count += int(spikes.sum())
    np.testing.assert_allclose(V, state[0], rtol=1e-5)
    np.testing.assert_allclose(held, state[1], atol=1e-4)
    assert count > 100  # and some were held


def test_exponents_are_those_of_the_times():
    sizes = (1, 10, 100, 1000, 10_000)
    flat, linear = (
        dict(zip(sizes, seconds, strict=True)) for seconds in ([1, 1, 2, 2.2, 2], [9, 1, 1, 10, 100])
    )
    found = noise.exponent(noise.upper_half(flat))
    assert (found["exponent"], found["error"]) == pytest.approx((0, np.log10(1.1) / np.sqrt(3)))
    found = noise.exponent(noise.upper_half(linear))
    assert (found["exponent"], found["error"]) == pytest.approx((1, 0), abs=1e-7)
    assert noise.exponent({1: 1.0, 2: 2.0}) == {}  # two points show no error
    assert list(noise.upper_half(linear)) == [100, 1000, 10_000]


class Config:
    """Has options as pytest has them."""

    def __init__(self, **options):
        self.getoption = lambda name, default: options.get(name, default)


def test_options_are_what_was_given_in_order_or_what_is_usual():
    assert options.counts(Config(), "sizes", (3, 1)) == [1, 3]
    assert options.counts(Config(sizes=[7, 2, 7]), "sizes", (3, 1)) == [2, 7]
    assert options.sizes(Config(sizes=[0.5]), "sizes", (1,)) == [0.5]
    with pytest.raises(pytest.UsageError, match=r"--sizes 0.5,2: expected whole numbers"):
        options.counts(Config(sizes=[2, 0.5]), "sizes", (3, 1))


def test_no_more_spikes_than_neurons():
    assert scaling.sizes_of(SPIKES, Config(sizes=[10, 200_000])) == [10]
    assert scaling.sizes_of(ENTRIES, Config(sizes=[10, 200_000])) == [10, 200_000]


@pytest.mark.slow
def test_result_file(tmp_path: Path):
    pytest.importorskip("numba", reason="the triad is a Numba kernel")
    sizes = (1000, 8000, 60_000, 400_000, 2_000_000)
    words = ("scaling", "-k", "neurons", "--sizes", ",".join(map(str, sizes)), "--benchmark-max-time", "0.01")
    _, result = run_benchmark(tmp_path / "scaling.json", *words)
    entries = {(x["extra_info"]["size"], x["name"]): x for x in result["benchmarks"]}
    names = {"numba_cpu", "reference", "Numba by hand"}
    assert set(entries) == {(n, name) for n in sizes for name in names}
    assert {x["group"] for x in entries.values()} == {f"{NEURONS}, {n:,}" for n in sizes}
    for name in names:
        curve = {n: entries[n, name]["stats"]["median"] for n in sizes}
        slope, _ = np.polyfit(np.log(sizes[2:]), np.log([curve[n] for n in sizes[2:]]), 1)
        info = entries[2_000_000, name]["extra_info"]
        assert info["series"] == NEURONS and info["error"] >= 0
        assert info["exponent"] == pytest.approx(slope, rel=1e-3)
        assert curve[2_000_000] > curve[1000]
    assert all("exponent" not in entries[n, "reference"]["extra_info"] for n in sizes[:-1])
