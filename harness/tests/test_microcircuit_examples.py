"""The microcircuit's examples run as their docstrings say: many seeds in one program; a gradient."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from example_programs import loaded

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.declared import simulation
from event_ops_harness.networks.microcircuit.model import Microcircuit

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    return loaded(EXAMPLES / f"{name}.py")


@pytest.mark.slow
def test_seeds_of_one_program_are_those_of_programs_of_their_own():
    model = Microcircuit(N_scaling=0.003, K_scaling=0.05)
    connectivity = recurrent_connectivity(model, 1)
    counts = example("microcircuit_seeds").counts_of_seeds(model, connectivity, [1, 2, 3], 100, 300)
    for seed, found in zip((1, 2, 3), np.asarray(counts), strict=True):
        _, alone = simulation(model, connectivity, seed, 400).run()
        wanted = np.bincount(alone.ids[alone.times >= 100], minlength=model.neurons)
        assert wanted.sum() > 10
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
def test_the_surrogate_gradient_points_where_the_rate_goes():
    module = example("microcircuit_gradient")
    model = Microcircuit(N_scaling=0.02, K_scaling=0.02)
    found, differences = module.slopes(model, 2, 500, range(1, 5))
    assert differences.mean() > 0
    assert 0.5 < found.mean() / differences.mean() < 2
