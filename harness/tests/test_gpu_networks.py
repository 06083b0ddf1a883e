"""Networks are timed on a GPU as steps and in one call, which find the same spikes."""

import json

import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.gpu import energy, networks
from event_ops_harness.networks.hpc_benchmark import static
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import Microcircuit


@pytest.mark.slow_cases("microcircuit", "hpc_benchmark", "learning")
@pytest.mark.parametrize("name", ["cuba", "microcircuit", "hpc_benchmark", "learning"])
def test_each_way_has_its_time_and_the_same_rate(monkeypatch, capsys, name):
    monkeypatch.setattr(networks, "NEURONS", 400)
    monkeypatch.setattr(networks, "drawn_on_device", static.matrix_of)  # which here would be an emulated GPU
    networks.main([name, "--scales", "0.02", "--seconds", "0.05"])
    found = json.loads(capsys.readouterr().out)
    known = {"hpc_benchmark": ["one call"], "learning": ["one call", "scan"]}
    ways = known.get(name, ["no graph", "graph", "one call"])
    for figure in ("us a step", "times real time", "Hz"):
        values = [x for key, x in found.items() if key.endswith(f", {figure}") and key.split(", ")[1] in ways]
        assert len(values) == len(ways) and min(values) > 0
    assert len(set(values)) == 1


def test_out_degrees_are_those_of_all_synapses():
    synapses = recurrent_connectivity(Microcircuit(N_scaling=0.02, K_scaling=0.02), seed=1)
    assert energy.out_degrees(synapses).sum() == synapses.entries.size


@pytest.mark.slow
def test_energy_is_that_of_the_stretches_by_their_events(monkeypatch):
    monkeypatch.setattr(energy, "MEASURED", 0.05)
    reads = iter([0.0, 1.0, 7.0, 8.0, 10.0, 13.0])
    found = energy.measured(0.02, lambda: next(reads))
    events = found["microcircuit 0.02, synaptic events"]
    assert found["microcircuit 0.02, uJ a synaptic event"] == pytest.approx(5e6 / events)
    # 1543 neurons of 77 synapses in the mean, at 0.7 Hz in so small a network, for 0.15 s.
    assert events == pytest.approx(1543 * 77 * 0.7 * 0.15, rel=0.5)
