"""The example of exact gradients learns Yin-Yang, and its points are those of the data set."""

from pathlib import Path

import numpy as np
import pytest
from example_programs import loaded

pytest.importorskip("optax", reason="the example takes its optimizer from optax")
EXAMPLE = loaded(Path(__file__).parents[1] / "examples" / "yin_yang.py")


def test_points_are_in_the_circle_and_of_all_classes():
    times, classes = EXAMPLE.points(300, 0)
    x, y = times[:, 0] / EXAMPLE.SPAN, times[:, 1] / EXAMPLE.SPAN
    assert (np.hypot(x - 0.5, y - 0.5) <= 0.5).all()
    np.testing.assert_array_equal(np.bincount(classes), [100, 100, 100])
    np.testing.assert_array_equal(EXAMPLE.class_of(x, y), classes)
    # Turned by half a circle, Yin is Yang, and a dot is a dot.
    np.testing.assert_array_equal(EXAMPLE.class_of(1 - x, 1 - y), np.array([1, 0, 2])[classes])


@pytest.mark.slow
def test_it_learns():
    *_, (_, _, tested, parameters) = EXAMPLE.train(epochs=6, samples=3000, batch=100, seed=0)
    assert tested > 0.9
    moved = [parameters[x] - EXAMPLE.start(0, EXAMPLE.HIDDEN)[x] for x in ("into_delay", "out_delay")]
    assert all(np.abs(x).max() > 0.1 for x in moved)
