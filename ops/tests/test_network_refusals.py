"""`Network`: what is wrong is refused by name, and what has no native run says why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import DELAYS, LIF, START, E, assert_same, in_two_parts, matrix, silent

from event_ops import CSR, lif_step
from event_ops.network import Network, PoissonInput, Population, Projection, Record


def with_offset(V_m, refractory, *, I_syn, **parameters):
    return lif_step(V_m, refractory, I_syn + 20, **parameters)


def twice(V_m, refractory, **parameters):
    V_m, refractory, _ = lif_step(V_m, refractory, 0.0, **parameters)
    return lif_step(V_m, refractory, 0.0, **parameters)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (with_offset, "with_offset computes before or behind the step"),
        (twice, "twice calls 2 steps of neurons"),
    ],
)
def test_what_has_no_native_run_says_why_and_is_a_scan(model, reason):
    A = CSR.from_dense(np.ones((3, 3), np.float32))
    projections = [Projection(A, "I_syn", delay=1)] if model is with_offset else []
    network = Network(Population(3, model, **LIF), projections, record=Record(spikes=99))
    state = network.state(START)
    assert network.explain(state).startswith("a scan of operators, since")
    assert reason in network.explain(state)
    with pytest.raises(ValueError, match=reason):
        network.run(state, 3, backend="numba_cpu")
    if model is with_offset:  # the others are as slow to compile
        with pytest.warns(UserWarning, match=reason):
            said = network.run(state, 50)
        assert_same(said, network.run(state, 50, backend="reference"))


SQUARE = CSR.from_dense(np.eye(3, dtype=np.float32))


def one_state(model, first=0.0, **record):
    """Run a model of one state."""
    network = Network(Population(3, model), record=Record(**record))
    return network.run(network.state({"x": first}), 3, backend="reference")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Population(0, lif_step), ValueError, "size is 0; expected an integer >= 1"),
        (
            lambda: Network(Population(3, lif_step, I_syn=0.0, **LIF)).state({"V_m": -60.0}),
            TypeError,
            "lif_step does not take .* missing a required argument: .refractory.; given are states V_m,",
        ),
        (
            lambda: Network({"E": Population(3, lif_step, I_syn=0.0, taum=1.0, **LIF)}).state({"E": START}),
            TypeError,
            "lif_step of 'E' does not take what it is given: .*'taum'",
        ),
        (
            lambda: Network({"E": Population(3, lif_step, **LIF)}).state(START),
            ValueError,
            "neurons has 'V_m': a .*; expected a dictionary for each population: 'E'",
        ),
        (
            lambda: Network(Population(3, lif_step, **LIF)).state({"E": START}),
            ValueError,
            "neurons has 'E': a dict; expected name -> state",
        ),
        (
            lambda: Network(Population(3, lif_step, **LIF)).state([-60.0, 0.0]),
            TypeError,
            "neurons is of type list; expected name -> state",
        ),
        (
            lambda: Network(Population(3, lif_step, **LIF), Projection(SQUARE, "jump", delay=1)),
            TypeError,
            "projections is of type Projection; expected a list",
        ),
        (lambda: Record(spikes=True), TypeError, "spikes is True; expected a number"),
        (lambda: Record(states=["V_m"]), TypeError, "states is a list; expected name of a state -> ids"),
        (
            lambda: Projection([[1.0]], "jump", delay=1),
            TypeError,
            "A is a list; expected a CSR or CompactCSR matrix or a 2-d array",
        ),
        (
            lambda: Projection(np.eye(3, dtype=int), "jump", delay=1),
            TypeError,
            "A has dtype int.*; expected float32 or float64",
        ),
        (
            lambda: Projection(np.eye(3), "jump", delay=[1, 2]),
            ValueError,
            "A is a 2-d array; expected one delay for all",
        ),
        (lambda: Projection(np.eye(3), "jump", slots=3), TypeError, "A is a 2-d array, and slots is given"),
        (lambda: Projection(SQUARE.T, "jump", delay=1), ValueError, "A is read transposed"),
        (
            lambda: Projection(in_two_parts(matrix(E, E, 1.0)), "jump", delay=DELAYS),
            ValueError,
            "A has 2 parts; expected one delay for all",
        ),
        (lambda: Projection(SQUARE, "jump", delay=-1), ValueError, "delay is or contains -1; expected >= 0"),
        (
            lambda: Projection(SQUARE, "jump", delay=1.5),
            TypeError,
            "delay has dtype float64; expected integers",
        ),
        (
            lambda: Projection(SQUARE, "jump", delay=[1, 2]),
            ValueError,
            r"delay has shape \(2,\); .* or \(3,\)",
        ),
        (
            lambda: Projection(SQUARE[:1].rows([0], nse=4), "jump", delay=[1, 2, 0, 0]),
            ValueError,
            "expected 0 to 4, the number of indices; without an entry behind the last row",
        ),
        (lambda: Projection(SQUARE, "jump"), TypeError, "delay is None and slots is None; expected one"),
        (lambda: Projection(SQUARE, "jump", delay=1, slots=3), TypeError, "delay is 1 and slots is 3"),
        (lambda: Projection(SQUARE, "jump", slots=2), ValueError, "slots is 2, and A has 3 rows"),
        (
            lambda: Projection(in_two_parts(matrix(E, E, 1.0)), "jump", slots=2),
            ValueError,
            "the scale of A differs between rows of one neuron",
        ),
        (lambda: PoissonInput("jump", weight=1.0, mean=-1), ValueError, "mean is or contains -1"),
        (lambda: PoissonInput("jump", weight=1.0, mean=jnp.ones(3)), TypeError, "mean is a JAX array"),
        (
            lambda: PoissonInput("jump", weight=1.0, mean=1.0, start=7, stop=5),
            ValueError,
            r"stop is 5, and start is 7; expected steps \[start, stop\)",
        ),
        (lambda: Record(spikes=-1), ValueError, "spikes is -1; expected >= 0"),
        (lambda: Record(spikes=2**31), ValueError, r"spikes is 2147483648; .* below 2\*\*31"),
        (lambda: Record(every=0), ValueError, "every is 0; expected at least 1 step"),
        (lambda: Record(every=2**31), ValueError, r"every is 2147483648; .* below 2\*\*31"),
        (lambda: Network(3), TypeError, "neurons has a int; expected Population"),
        (lambda: Network({}), ValueError, "neurons is an empty dictionary"),
        (lambda: silent("A"), TypeError, "projections has a str; expected Projection"),
        (
            lambda: silent(Projection(SQUARE, "jump", delay=1, source="E")),
            ValueError,
            "source='E' of Projection.* is no population; expected none: there is only one",
        ),
        (
            lambda: silent(Projection(SQUARE, "jump", delay=1), size=4),
            ValueError,
            r"the matrix of Projection\('jump'\) has shape \(3, 3\); expected \(4, 4\)",
        ),
        (
            lambda: silent().state({"V_m": 0.0, "refractory": np.zeros(4)}),
            ValueError,
            r"refractory has shape \(4,\)",
        ),
        (lambda: silent().state(START | {"w": 0.0}), TypeError, "the model takes no state w"),
        (
            lambda: silent().state(START | {"E_L": 0.0}),
            TypeError,
            "E_L is a parameter of the population, and a",
        ),
        (
            lambda: silent(Projection(SQUARE, "g_ex", delay=1)).state(START),
            ValueError,
            r"the receptor of Projection\('g_ex'\) is unknown to the model; expected one of V_m",
        ),
        (
            lambda: silent(Projection(SQUARE, "E_L", delay=1)).state(START),
            ValueError,
            "is a parameter of the population",
        ),
        (
            lambda: silent(Projection(SQUARE, "jump", delay=0)).state(START),
            ValueError,
            r"Projection\('jump'\) has a delay of 0, and its receptor is a variable",
        ),
        (
            lambda: silent(Projection(SQUARE.with_data(np.ones(3, np.int32)), "jump", delay=1)).state(START),
            TypeError,
            "has dtype int32; expected that of jump, float32; cast",
        ),
        (
            lambda: silent(inputs=[PoissonInput("jump", weight=jnp.ones(2), mean=1.0)]).state(START),
            ValueError,
            r"the weight of PoissonInput\('jump'\) has shape \(2,\)",
        ),
        (
            lambda: silent(states={"V_m": [0, 3]}).state(START),
            ValueError,
            r"ids of V_m from 0 to 3; expected them in \[0, 3\)",
        ),
        (lambda: silent(states={"w": [0]}).state(START), ValueError, "Record has the state 'w'"),
        (
            lambda: Record(states={"V_m": [0.5]}),
            TypeError,
            r"float64\(1,\) as ids; expected a list of integers",
        ),
        (
            lambda: Record(states={"V_m": [2**32]}),
            ValueError,
            r"ids from 4294967296 to 4294967296; expected them in \[0, 2\*\*31\)",
        ),
        (
            lambda: Projection(SQUARE, "jump", delay=2**31),
            ValueError,
            "delay is or contains 2147483648; expected >= 0, in steps, and below",
        ),
        (
            lambda: one_state(lambda x: (x, x > 2), jnp.zeros(3, np.int32), states={"spikes": [0]}),
            TypeError,
            "the states x of the neurons are integers, .*; expected one of float32 or float64",
        ),
        (
            lambda: one_state(lambda x: (x, x[:2] > 2)),
            ValueError,
            r"returns spikes of shape \(2,\) and dtype bool; expected \(3,\), one for each neuron",
        ),
        (
            lambda: one_state(lambda x: (x, (x > 2).astype(jnp.int32))),
            TypeError,
            "returns spikes of dtype int32; expected bool, or float32 or float64",
        ),
        (
            lambda: jax.jit(lambda d: Projection(SQUARE, "jump", delay=d))(1),
            TypeError,
            "delay is traced; expected integers",
        ),
        (
            lambda: jax.jit(lambda A: Projection(A, "jump", delay=[1, 2, 3]))(SQUARE),
            TypeError,
            "A is traced, and there is a delay for each entry",
        ),
        (
            lambda: jax.jit(lambda ids: Record(states={"V_m": ids}))(np.arange(2)),
            TypeError,
            "states has traced ids; expected a list of integers that are known",
        ),
        (
            lambda: jax.jit(lambda n: silent().run(silent().state(START), n))(3),
            TypeError,
            "steps is .*Tracer.*; expected an integer that is known when traced: pass it as a static",
        ),
        (
            lambda: one_state(lambda x: (x.astype(jnp.float16), x > 2)),
            ValueError,
            r"returns x of shape \(3,\) and dtype float16; expected \(3,\), .* float32",
        ),
    ],
)
def test_wrong_calls_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("most", [np.int8(127), np.uint8(255)])
def test_delays_of_a_narrow_dtype_have_the_slots_that_they_need(most):
    delays = np.array([0, 1, most], most.dtype)
    found, expected = (Projection(SQUARE, "jump", delay=x) for x in (delays, delays.astype(np.int64)))
    assert found.ages == expected.ages
    assert_same(found.A, expected.A)
