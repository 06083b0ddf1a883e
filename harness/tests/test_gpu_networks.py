"""Networks are timed on a GPU as steps and in one call, which find the same spikes."""

import json

import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.gpu import networks


@pytest.mark.slow_cases("microcircuit", "hpc_benchmark")
@pytest.mark.parametrize("name", ["cuba", "microcircuit", "hpc_benchmark"])
def test_each_way_has_its_time_and_the_same_rate(monkeypatch, capsys, name):
    monkeypatch.setattr(networks, "NEURONS", 400)
    networks.main([name, "--scales", "0.02", "--seconds", "0.05"])
    found = json.loads(capsys.readouterr().out)
    ways = ["one call"] if name == "hpc_benchmark" else ["no graph", "graph", "one call"]
    for figure in ("us a step", "times real time", "Hz"):
        values = [x for key, x in found.items() if key.endswith(f", {figure}") and key.split(", ")[1] in ways]
        assert len(values) == len(ways) and min(values) > 0
    assert len(set(values)) == 1
