"""Wrong states and runs of a network are refused by name."""

import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import LIF, START, delta, silent

from event_ops import CSR, lif_step
from event_ops.network import Network, Population, Projection

SQUARE = CSR.from_dense(np.eye(3, dtype=np.float32))
POPULATION = Population(3, lif_step, I_syn=0.0, surrogate=None, **LIF)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: silent().run(silent().state(START)._replace(step=jnp.int32(-1)), 6),
            ValueError,
            "step is -1; expected >= 0",
        ),
        (
            lambda: silent().run(silent().state(START)._replace(step=jnp.zeros(2, np.int32)), 6),
            ValueError,
            r"step has shape \(2,\); expected \(\): one number; a batch of states goes through jax.vmap",
        ),
        (lambda: silent().run(START, 3), TypeError, "state is a dict; expected what Network.state"),
        (
            lambda: silent().run(silent().state(START)._replace(step=0), 3),
            TypeError,
            r"state.step is or contains a int; expected arrays",
        ),
        (
            lambda: Network({"a": POPULATION, "b": POPULATION}).state({"a": START, "b": START, "c": START}),
            ValueError,
            "neurons has 'a': a dict, 'b': a dict, 'c': a dict; expected a dictionary for each .*: 'a', 'b'",
        ),
        (lambda: silent().run(silent().state(START), 0), ValueError, "steps is 0; expected at least 1"),
        (lambda: silent().run(silent().state(START), 2**31), ValueError, r"below 2\*\*31"),
        (
            lambda: silent(states={"V_m": [0]}, every=4).run(silent().state(START), 6),
            ValueError,
            "steps is 6; expected a multiple of every=4",
        ),
        (
            lambda: silent(Projection(SQUARE, "jump", delay=4)).run(silent().state(START), 6),
            ValueError,
            r"history has shape \(1, 1\); expected \(5, 1\)",
        ),
        (
            lambda: silent().run(silent().state(START)._replace(step=jnp.int32(2**31 - 5)), 6),
            ValueError,
            "step is 2147483643, and int32 counts to 2147483647",
        ),
    ],
)
def test_wrong_states_and_runs_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_state_names_all_of_a_model_of_ones_own():
    network = Network(Population(3, delta, jump=0.0, **LIF))
    with pytest.raises(TypeError, match="has V_m; expected V_m, refractory"):
        network.state({"V_m": 0.0})
