"""The benchmark of the microcircuit says what follows from its rows, and where the time goes."""

import json

import pytest

from event_ops_harness.bench import microcircuit as bench_microcircuit
from event_ops_harness.bench.microcircuit import add_efficiencies, exponents
from event_ops_harness.bench.microcircuit_parts import shares


def rows_of(simulator, cores, times):
    """Rows at scales of which each has four times the synapses of the one before."""
    return [
        {"simulator": simulator, "cores": cores, "scale": 2.0**i, "synapses": 100 * 4**i, "min": time}
        for i, time in enumerate(times)
    ]


def test_exponents_are_those_of_the_times():
    rows = [*rows_of("ours", 1, [1, 4, 16]), *rows_of("NEST", 1, [1, 2, 4, 8]), *rows_of("ours", 2, [1, 2])]
    found = {(fit["simulator"], fit["cores"]): fit for fit in exponents(rows)}
    assert set(found) == {("ours", 1), ("NEST", 1)}  # two points show no error
    assert found["ours", 1]["exponent"] == pytest.approx(1)
    assert found["NEST", 1]["exponent"] == pytest.approx(0.5)
    assert (found["NEST", 1]["from"], found["NEST", 1]["to"]) == (100, 6400)


def test_efficiency_is_that_of_the_same_simulator_and_scale():
    rows = [*rows_of("ours", 1, [2, 8]), *rows_of("ours", 2, [1, 5]), *rows_of("NEST", 2, [7])]
    skipped = {"simulator": "ours", "cores": 2, "scale": 9.0, "skipped": "no memory"}
    add_efficiencies([*rows, skipped])
    assert [row.get("efficiency") for row in rows] == [None, None, 1.0, 0.8, None]


def test_neurons_are_what_is_left_and_shares_make_a_whole():
    seconds = {"step": 10e-6, "delivery": 5e-6, "background": 2e-6}
    found = shares(seconds, {"neurons": 6e3, "delivery": 1e3, "background": 4e3}, triad=1e9)
    assert found["parts"]["neurons"]["us"] == pytest.approx(3)
    assert sum(part["share"] for part in found["parts"].values()) == pytest.approx(1)
    of_triad = [part["of_triad"] for part in found["parts"].values()]
    assert of_triad == pytest.approx([2, 0.2, 2])


@pytest.mark.slow
def test_result_file(tmp_path, capsys):
    pytest.importorskip("numba", reason="the rows of the network are drawn by Numba")
    words = ["--scales", "0.01", "0.015", "0.02", "--cores", "1", "--seconds", "0.05", "--rounds", "2"]
    words += ["--only", "event-ops", "--parts"]
    assert bench_microcircuit.main([*words, "--output", str(tmp_path / "found.json")]) == 0
    result = json.loads((tmp_path / "found.json").read_text())
    assert [row["scale"] for row in result["rows"]] == [0.01, 0.015, 0.02]
    assert result["fits"][0]["simulator"] == "event-ops"
    for row in result["parts"]:
        assert set(row["parts"]) == {"neurons", "delivery", "background"}
        assert row["triad_GB/s"] > 0 and row["parts"]["background"]["us"] > 0
        # V_m, refractory and spikes alone.
        assert row["parts"]["neurons"]["KB"] * 1e3 > 17 * 771
    assert result["command"] == f"nox -s bench -- microcircuit {' '.join(words)}"
    assert "Where the time of a step goes" in capsys.readouterr().out


def test_bad_options_stop_with_exit_code_2():
    for words in (["--rounds", "0"], ["--cores", "0"], ["--parts", "--drive", "dc"]):
        with pytest.raises(SystemExit) as stop:
            bench_microcircuit.main(words)
        assert stop.value.code == 2
