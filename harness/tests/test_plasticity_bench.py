"""Kernels by hand of `bench plasticity` have the results of the operators beside them."""

import numpy as np
import pytest

from event_ops.cases import BENCHMARK
from event_ops.discover import operators

pytest.importorskip("numba", reason="the kernels are Numba's")

from event_ops_harness.bench import stdp_by_hand

BY_HAND = {"stdp_on_pre": stdp_by_hand.on_pre, "stdp_on_post": stdp_by_hand.on_post}


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_HAND)
def test_stdp_by_hand_changes_weights_as_the_operator(name: str):
    operator = next(x for x in operators() if x.name == name)
    args, kwargs = operator.tagged(BENCHMARK)[0].make(np.random.default_rng(0), "float32", "int32")
    changed = np.asarray(BY_HAND[name](*args, **kwargs))
    assert (changed != args[0]).any()
    np.testing.assert_array_equal(changed, operator.function(*args, **kwargs))
