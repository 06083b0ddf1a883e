"""The benchmark of the CUBA network measures, compares and skips as it says."""

import shlex
import sys

import pytest
from other_pytest import run_benchmark

from event_ops_harness.bench import simulators
from event_ops_harness.networks.rivals import RIVALS
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

SMALL = {"neurons": 200, "steps": 50, "seed": 1, "threads": 1, "model": {}}


NETWORKS = ("cuba", "coba", "inhibitory_stdp")
OURS = [(network, rival) for network in NETWORKS for rival in RIVALS[network] if rival.ours]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "rival"), OURS, ids=[f"{network}, {rival.name}" for network, rival in OURS]
)
def test_our_worker_repeats_its_stretch(network: str, rival: Rival):
    pytest.importorskip("numba", reason="a run in one call is a Numba kernel")
    worker = Worker(rival, sys.executable, SMALL | {"network": network})
    first, second = worker.run(), worker.run()
    worker.close()
    assert first["spikes"] == second["spikes"] > 0 and first["seconds"] > 0


def test_absent_simulator_is_skipped_with_its_reason(tmp_path):
    program = tmp_path / "absent.py"
    program.write_text("import no_such_simulator\n")
    with pytest.raises(WorkerError, match="No module named 'no_such_simulator'"):
        Worker(Rival("absent", (str(program),)), sys.executable, SMALL)


WORKER = """
import json, sys
request = json.loads(sys.argv[1])
print(json.dumps({"ready": {"version": "1.2", "build_seconds": 0.5}}), flush=True)
for turn, _ in enumerate(sys.stdin):
    if turn > request["turns"]:
        sys.exit("MemoryError: no more")
    print(json.dumps({"seconds": 10.0 * turn, "spikes": 7}), flush=True)
"""


def test_simulators_take_turns_and_who_ends_early_is_skipped(tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(WORKER)
    jobs = [
        (Rival(name, (str(program),)), SMALL | {"steps": 10, "turns": turns})
        for name, turns in (("ours", 9), ("theirs", 9), ("short of memory", 1))
    ]
    assert simulators.measure(jobs[:1], sys.executable, 2, per="spikes").seconds["ours"] == [10 / 7, 20 / 7]
    jobs.insert(1, (Rival("absent", ("-c", "raise ImportError('no NEST')")), SMALL))
    group = simulators.measure(jobs, sys.executable, rounds=3)
    assert group.seconds == {name: [1.0, 2.0, 3.0] for name in ("ours", "theirs")}  # after one to warm up
    assert group.skipped == {"absent": "ImportError: no NEST", "short of memory": "MemoryError: no more"}
    said = {"threads": 1, "build_seconds": 0.5, "spikes": 7, "versions": {"version": "1.2"}}
    assert group.info["theirs"] == said


def test_large_networks_have_fewer_rounds_and_all_as_many_neuron_steps():
    assert [simulators.rounds_for(n, 5) for n in (4000, 200_000)] == [5, 3]
    assert [simulators.steps_for(n) for n in (4000, 40_000, 4_000_000)] == [10_000, 1000, 200]


@pytest.mark.slow
def test_result_file(tmp_path):
    words = ("cuba", "--sizes", "200", "--benchmark-min-rounds", "2", "-k", "catalog")
    done, result = run_benchmark(tmp_path / "cuba.json", *words)
    (entry,) = result["benchmarks"]
    info = entry["extra_info"]
    assert entry["group"] == "200 neurons" and entry["stats"]["rounds"] == 2
    assert info["ours"] and info["rate"] > 0 and info["versions"]["jax"] and info["threads"] == 1
    assert result["command"] == f"nox -s bench -- {shlex.join(words)}"
    assert "event-ops, catalog operators" in done.stdout
