"""Tests of `bench training`: losses are compared, and memory is read in processes without times."""

from event_ops_harness.bench.suites import test_training as suite
from event_ops_harness.bench.workers.training import SURROGATE


def test_a_library_that_finds_another_loss_is_wrong_and_memory_is_that_of_other_processes(monkeypatch):
    pythons = {}

    def ask(worker, request, env, python):
        pythons[request["member"]] = worker, python
        loss = 3.3 if request["member"] == "Norse" else 3.0
        return {"seconds": float(request["calls"]), "bytes": (1 if env else 2) << 20, "loss": loss}

    monkeypatch.setattr(suite, "ask", ask)
    found = suite.group(SURROGATE, 8, 4, 2, "another Python")
    assert set(found.wrong) == {"Norse"}
    assert found.seconds["one call"] == [suite.CALLS] * 2
    assert found.info["one call"] == {"MiB": 1.0, "loss": 3.0}
    assert pythons["spyx"] == ("spyx_training", "another Python")
    assert pythons["one call"][0] == "training"
