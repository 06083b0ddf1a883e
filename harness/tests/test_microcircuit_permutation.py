"""The permutation test: of distances whose labellings are counted by hand, of samples of one distribution."""

import numpy as np
import pytest

from event_ops_harness.networks.microcircuit.statistics import excesses, ks_distance, labellings, p_values


def apart(places: list[float]) -> np.ndarray:
    """Distances of runs that lie at these places on a line."""
    return np.abs(np.subtract.outer(places, places))


def test_ks_distance_by_hand():
    """Below 3 lies half of the first sample and nothing of the second; ties count once."""
    a, b = np.array([1.0, 2, 3, 3]), np.array([3.0, 4, 5, 6])
    assert ks_distance(a, b) == ks_distance(b, a) == 0.75
    assert ks_distance(a, a[::-1]) == 0
    assert np.isnan(ks_distance(a, a[:0]))


def test_every_way_to_halve_the_runs():
    ours = labellings(2)
    assert sorted(map(tuple, ours)) == sorted(
        [(1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1), (0, 1, 1, 0), (0, 1, 0, 1), (0, 0, 1, 1)]
    )
    np.testing.assert_array_equal(ours[0], [1, 1, 0, 0])


def test_excesses_by_hand():
    """Runs at 0, 1 and 10, 12: pairs across are 10, 12, 9, 11 apart, those of one name 1 and 2."""
    assert excesses(apart([0, 1, 10, 12]), labellings(2))[0] == pytest.approx(10.5 - 1.5)


def test_p_values_by_hand():
    """Of 20 labellings only the first and its opposite part the runs as their places do; or all are alike."""
    p, adjusted = p_values(np.array([apart([9, 8, 7, 0, 1, 2]), np.ones((6, 6)) - np.eye(6)]))
    np.testing.assert_allclose(p, [2 / 20, 1])
    np.testing.assert_allclose(adjusted, [2 / 20, 1])


def test_adjusted_p_values_count_every_question():
    """Two questions whose smallest answers belong to different labellings."""
    p, adjusted = p_values(np.array([apart([9, 8, 7, 0, 1, 2]), apart([9, 0, 8, 1, 7, 2])]))
    assert p[0] == pytest.approx(2 / 20)
    assert adjusted[0] == pytest.approx(4 / 20)
    assert (adjusted >= p).all()


@pytest.mark.slow
def test_p_values_of_one_distribution_are_uniform_and_of_another_small():
    rng = np.random.default_rng(3)

    def question(shift: float) -> np.ndarray:
        samples = [rng.normal(shift * (run < 4), 1, 60) for run in range(8)]
        return np.array([[ks_distance(a, b) for a in samples] for b in samples])

    same = np.array([p_values(question(0)[None])[0][0] for _ in range(200)])
    assert abs((same <= 0.1).mean() - 0.1) < 0.07  # 3 s.d.
    assert abs((same <= 0.5).mean() - 0.5) < 0.11
    assert p_values(question(1)[None])[0][0] == pytest.approx(2 / 70)


def test_distances_that_are_unknown_say_nothing():
    unknown = np.where(np.eye(6) > 0, 0.0, np.nan)
    p, adjusted = p_values(np.array([unknown, apart([9, 8, 7, 0, 1, 2])]))
    np.testing.assert_allclose(p, [1, 2 / 20])
    np.testing.assert_allclose(adjusted, [1, 2 / 20])
