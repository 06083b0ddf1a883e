"""What is measured on a GPU is read right: launches of a call, ratios to what was counted, names."""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from event_ops_harness.gpu import hardware, products

METRICS = [metric for metrics, _ in hardware.FIGURES.values() for metric in metrics]


def launch(name, value="1,000"):
    return {"Kernel Name": name} | dict.fromkeys(METRICS, value)


def test_the_launches_of_a_call_are_behind_its_boundary():
    rows = [launch(name) for name in ("module::boundary", "first", "second", "module::boundary", "third")]
    found = hardware.by_call(["f a", "g b"], [launch("before"), *rows])
    assert found["f a"] == {
        "instructions": 2000, "sectors": 8000, "registers": 1000, "us": 2, "launches": 2,
    }  # fmt: skip
    assert found["g b"]["launches"] == 1


def test_calls_that_were_not_made_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        hardware.by_call(["f a", "g b"], [launch("boundary"), launch("first")])


def test_figures_are_compared_with_those_counted_of_as_many_launches():
    def row(case, launches):
        words = {"operator": "f", "case": case, "backend": "numba_cuda", "launches": launches}
        return words | {"instructions": 50, "moved": 320, "registers": 10, "h100_us": 4.0}

    own = {"instructions": 100, "sectors": 20, "registers": 10, "us": 2, "launches": 1}
    found = hardware.compared({"f a": own, "f b": own, "f c": own}, [row("a", 1), row("b", 1), row("c", 2)])
    assert found["calls compared"] == 2
    assert found["instructions, quartiles of ratios"] == [2, 2, 2]
    assert found["sectors, quartiles of ratios"] == [2, 2, 2]
    assert found["us, quartiles of ratios"] == [0.5, 0.5, 0.5]


def test_figures_of_rivals_are_named_for_the_report():
    assert products.in_us("csr_matvec 10") == "csr_matvec 10, us"
    assert products.in_us("csr_matvec 10, cuSPARSE") == "csr_matvec 10, cuSPARSE us"
