"""The suite of messages along edges: all ways find the same values, and missing libraries are named."""

import sys
from contextlib import ExitStack

import jax
import numpy as np
import pytest

from event_ops_harness.bench.suites import test_graph_messages as suite
from event_ops_harness.bench.workers.graph_messages import MESSAGES, OURS, WAYS, graph, work_of


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", MESSAGES)
def test_all_ways_find_the_same_values(name, gradient):
    arrays = graph(40, 5, 3)
    works = {member: work_of(member, name, arrays, gradient) for member in WAYS}
    expected = jax.tree.leaves(works.pop(OURS)())
    for work in filter(None, works.values()):
        for wanted, got in zip(expected, jax.tree.leaves(work()), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)


def test_a_python_without_a_library_is_no_error():
    with ExitStack() as stack:
        members, missing = suite.members_of("maximum", 40, 5, 3, False, sys.executable, stack)
    assert {OURS, "segments"} <= set(members) <= {OURS, "segments", *suite.FOREIGN}
    assert set(members) ^ set(missing) == set(suite.MEMBERS)
