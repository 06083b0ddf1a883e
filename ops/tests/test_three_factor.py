"""The example of three-factor learning learns, and only where rewards follow what earned them."""

import sys
from pathlib import Path

import pytest
from example_programs import loaded

PATH = Path(__file__).parents[1] / "examples" / "three_factor.py"


@pytest.fixture(scope="module")
def example():
    return loaded(PATH)


@pytest.mark.slow
def test_the_rewarded_group_learns_to_answer(example):
    learned, control = example.experiment(seed=0, trials=400)
    assert learned.shape == control.shape == (400, 2)
    growth, control_growth = (r[-40:].mean(0) - r[:40].mean(0) for r in (learned, control))
    assert growth[0] > 1  # spikes per neuron and trial
    assert growth[0] - growth[1] > 1
    assert abs(control_growth[0] - control_growth[1]) < 0.5
    first = (learned[:40] - control[:40]).mean(0)
    assert abs(first[0] - first[1]) < 0.5  # both begin alike


@pytest.mark.slow
def test_its_table_and_its_help(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["three_factor.py", "--seed", "3", "--trials", "400"])
    example.main()
    rows = {
        line.split()[0]: list(map(float, line.split()[1:]))
        for line in capsys.readouterr().out.splitlines()[2:]
    }
    assert rows["rewarded"][2] > rows["rewarded"][3] + 0.5
    monkeypatch.setattr(sys, "argv", ["three_factor.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        example.main()
    assert "--seed" in capsys.readouterr().out
