"""The benchmark of the CUBA network measures, compares and skips as it says."""

import json
import sys

import pytest

from event_ops_harness.bench import cuba as bench_cuba
from event_ops_harness.bench import simulators
from event_ops_harness.networks.cuba.rivals import RIVALS
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

SMALL = {"neurons": 200, "steps": 50, "seed": 1, "threads": 1, "model": {}}


OURS = [rival for rival in RIVALS if rival.ours]


@pytest.mark.parametrize(
    "rival",
    [OURS[0], *(pytest.param(rival, marks=pytest.mark.slow) for rival in OURS[1:])],
    ids=lambda rival: rival.name,
)
def test_our_worker_repeats_its_stretch(rival: Rival):
    pytest.importorskip("numba", reason="the fused step is a Numba kernel")
    worker = Worker(rival, sys.executable, SMALL)
    first, second = worker.run(), worker.run()
    worker.close()
    assert first["spikes"] == second["spikes"] > 0 and first["seconds"] > 0


def test_absent_simulator_is_skipped_with_its_reason(tmp_path):
    program = tmp_path / "absent.py"
    program.write_text("import no_such_simulator\n")
    with pytest.raises(WorkerError, match="No module named 'no_such_simulator'"):
        Worker(Rival("absent", (str(program),)), sys.executable, SMALL)


def test_ratios_are_to_brian2_in_the_same_rounds():
    rows = [
        {"simulator": "ours", "us_per_step": [1.0, 4.0, 2.0]},
        {"simulator": bench_cuba.BASELINE, "us_per_step": [4.0, 8.0, 10.0]},
    ]
    simulators.summarize(rows, "us_per_step", bench_cuba.BASELINE, "us_")
    assert (rows[0]["us_min"], rows[0]["us_median"]) == (1, 2)
    assert (rows[0]["ratio_min"], rows[0]["ratio_median"]) == (0.25, 0.25)
    simulators.summarize(alone := [{"simulator": "ours", "us_per_step": [1.0]}], "us_per_step", "absent")
    assert alone == [{"simulator": "ours", "us_per_step": [1.0], "min": 1.0, "median": 1.0}]


@pytest.mark.slow
def test_result_file(tmp_path, capsys):
    output = tmp_path / "cuba.json"
    words = ["--sizes", "200", "--rounds", "2", "--only", "catalog", "--output", str(output)]
    assert bench_cuba.main(words) == 0
    result = json.loads(output.read_text())
    (row,) = result["rows"]
    assert len(row["us_per_step"]) == 2 and row["us_min"] > 0 and row["versions"]["jax"]
    assert result["command"] == "nox -s bench -- cuba --sizes 200 --rounds 2 --only catalog"
    assert "catalog" in capsys.readouterr().out


def test_bad_options_stop_with_exit_code_2(tmp_path):
    for words in (["--sizes", "x"], ["--rounds", "0"], ["--output", str(tmp_path / "no" / "a.json")]):
        with pytest.raises(SystemExit) as stop:
            bench_cuba.main(words)
        assert stop.value.code == 2
