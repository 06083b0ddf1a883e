"""`bench scaling` fits exponents to the upper sizes, and its loops by hand compute what the operators do."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from event_ops.discover import operators
from event_ops_harness.bench import scaling, traffic
from event_ops_harness.bench.steps import Problem, make_problem
from event_ops_harness.results import Row

OPERATORS = {operator.name: operator for operator in operators()}


def problem_of(name: str, size: int, neurons: int = 200) -> Problem:
    series = scaling.SERIES[name]
    return make_problem(OPERATORS[series.operator], series.case(size, neurons))


def test_sizes_are_what_they_say():
    data, indices, indptr, v = problem_of("entries", 3000).args
    assert data.size == indices.size == indptr[-1] == 3000 and v.size == 30
    *_, events = problem_of("spikes", 17).args
    assert events.sum() == 17 and events.size == 200
    assert [x.size for x in problem_of("neurons", 50).args] == [50, 50, 50]
    assert all(len(series.sizes) >= 5 for series in scaling.SERIES.values())


def test_spikes_differ_from_step_to_step_and_are_as_many():
    bank = problem_of("spikes", 17).bank
    assert set(bank.sum(axis=1)) == {17} and (bank[0] != bank[1]).any()


def test_product_by_hand_is_the_operator():
    by_hand = pytest.importorskip("event_ops_harness.bench.rivals.by_hand", reason="Numba is not installed")
    data, indices, indptr, v = problem_of("entries", 3000).args
    y = by_hand.matvec(data, indices, indptr, v)
    expected = OPERATORS["csr_matvec"].function(data, indices, indptr, v, shape=(30, 30), backend="reference")
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_neurons_by_hand_do_what_the_operator_does():
    by_hand = pytest.importorskip("event_ops_harness.bench.rivals.by_hand", reason="Numba is not installed")
    problem = problem_of("neurons", 300)
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


def test_fit_is_over_the_upper_half():
    def rows(rival: str, seconds: list[float]) -> list[Row]:
        return [
            Row(f"op {n}", rival, s, "ours", {"series": "op by n", "size": n})
            for n, s in zip((1, 10, 100, 1000, 10_000), seconds, strict=True)
        ]

    flat, linear = scaling.fits(rows("ours", [1, 1, 2, 2.2, 2]) + rows("theirs", [9, 1, 1, 10, 100]))
    assert (flat.exponent, flat.error) == pytest.approx((0, np.log10(1.1) / np.sqrt(3)))
    assert (linear.exponent, linear.error) == pytest.approx((1, 0), abs=1e-7)
    assert (linear.first, linear.last, linear.us_at_last) == (100, 10_000, 100e6)


@pytest.mark.slow
def test_result_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    pytest.importorskip("numba", reason="the triad is a Numba kernel")
    monkeypatch.setattr(traffic, "beyond_cache", lambda: 3 << 20)
    output = tmp_path / "scaling.json"
    sizes = ("1000", "8000", "60000", "400000", "2000000")
    words = ["--only", "neurons", "--sizes", *sizes, "--rounds", "1", "--budget", "0.01"]
    assert scaling.main([*words, "--output", str(output)]) == 0
    result = json.loads(output.read_text())
    rivals = {"numba_cpu", "reference", "Numba by hand"}
    assert {(row["size"], row["rival"]) for row in result["rows"]} == {
        (int(n), r) for n in sizes for r in rivals
    }
    assert {row["group"] for row in result["rows"]} == {f"lif_step {n} neurons" for n in sizes}
    fits = {fit["rival"]: fit for fit in result["fits"]}
    assert set(fits) == rivals
    for rival, fit in fits.items():
        curve = {row["size"]: row["us"] for row in result["rows"] if row["rival"] == rival}
        upper = sorted(curve)[-3:]
        slope, _ = np.polyfit(np.log(upper), np.log([curve[n] for n in upper]), 1)
        assert fit["exponent"] == pytest.approx(slope) and fit["error"] >= 0
        assert (fit["first"], fit["last"]) == (60_000, 2_000_000)
        assert fit["us_at_last"] == pytest.approx(curve[2_000_000])
        assert curve[2_000_000] > curve[1000]
    assert "±" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["--only", "no_such"], ["--sizes", "1", "2", "3"], ["--rounds", "0"], ["--neurons", "100"]]
)
def test_bad_options_stop_with_exit_code_2(words: list[str]):
    with pytest.raises(SystemExit) as stop:
        scaling.main(words)
    assert stop.value.code == 2
