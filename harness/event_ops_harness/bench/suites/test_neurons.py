"""Time a neuron model as functions of one neuron beside the catalog's neurons and JAX.

A step of a loop in machine code, in which states change in place: LIF and Izhikevich neurons, which
`neuron_step` compiles, beside the operators `lif_step` and `izhikevich_step`, and Hodgkin-Huxley neurons, for
which JAX alone is the rival. The operators are compiled from terms as models are; "by hand", their name in
records, is of the time when they were not. JAX computes the same by XLA. LIF neurons are timed with
the list of their spikes, too, for which 2 % of the neurons have room: the step makes it where it is given a
capacity, and `spike_compact` in a second call. The functions are those of the page "Write a neuron model".

Noisy LIF neurons are timed with the noise drawn in the pass, by `normal_input` in front of it, by
`jax.random.normal`, and, by the operator, without noise.

Not measured: the time to trace and to compile, and derivatives, which are XLA's for all.

`--sizes` are other numbers of neurons, of those that the catalog's cases have: 4000, 100000 and 1000000.
"""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import neuron_step, normal_input, spike_compact
from event_ops.cases import Case
from event_ops.cases.bench import Bench
from event_ops.discover import Operator, operators
from event_ops.neurons.step import kernel
from event_ops_harness.bench import options
from event_ops_harness.bench.steps import make_problem, steps_of

SIZES = (100_000,)
CASES = {4000: "4k", 100_000: "100k", 1_000_000: "1M"}
A_MODEL, IN_TWO_CALLS, BY_HAND, IN_JAX = "a model", "a model, two calls", "by hand", "in JAX"
LISTED, NOISY = "lif_step and spike_compact", "noisy lif_step"
OPERATOR_FIRST, JAX_FIRST, WITHOUT = "normal_input first", "jax.random.normal first", "without noise"
RIVALS = {IN_TWO_CALLS, BY_HAND, IN_JAX, OPERATOR_FIRST, JAX_FIRST, WITHOUT}


def lif(V_m, *, I_syn, E_L, tau_m, dt):
    V_inf = E_L + I_syn
    return V_inf + (V_m - V_inf) * jnp.exp(-dt / tau_m)


def noisy_lif(V_m, *, xi, I_syn, E_L, tau_m, dt):
    return lif(V_m, I_syn=I_syn, E_L=E_L, tau_m=tau_m, dt=dt) + 0.5 * xi


def izhikevich(V_m, U_m, *, I_syn, a, b, dt):
    slope = (0.04 * V_m + 5) * V_m + 140 - U_m + I_syn
    return V_m + dt * slope, U_m + dt * a * (b * V_m - U_m)


def linoid(x):
    # x / (exp(x) - 1), near 0 by its series; `safe` keeps 0 / 0 out of the branch that is not chosen.
    near = abs(x) < 1e-3
    safe = jnp.where(near, 1, x)
    return jnp.where(near, 1 - x / 2, safe / jnp.expm1(safe))


def toward(x, alpha, beta, dt):
    return alpha / (alpha + beta) + (x - alpha / (alpha + beta)) * jnp.exp(-(alpha + beta) * dt)


def hodgkin_huxley(V_m, m, h, n, *, I_e, dt):
    m = toward(m, linoid(-(V_m + 40) / 10), 4 * jnp.exp(-(V_m + 65) / 18), dt)
    h = toward(h, 0.07 * jnp.exp(-(V_m + 65) / 20), jax.nn.sigmoid((V_m + 35) / 10), dt)
    n = toward(n, 0.1 * linoid(-(V_m + 55) / 10), 0.125 * jnp.exp(-(V_m + 65) / 80), dt)
    g_Na, g_K, g_L = 120 * m**3 * h, 36 * n**4, 0.3
    g = g_Na + g_K + g_L
    V_inf = (g_Na * 50 + g_K * -77 + g_L * -54.4 + I_e) / g
    return V_inf + (V_m - V_inf) * jnp.exp(-g * dt), m, h, n


FIRING = {
    "threshold": lambda V_m, *, V_th: V_m - V_th,
    "reset": lambda V_m, *, V_reset: V_reset,
    "held": ("V_m",),
}
LIF, GIVEN = neuron_step(lif, **FIRING), neuron_step(noisy_lif, **FIRING)
DRAWING = neuron_step(noisy_lif, **FIRING, noise={"xi": "normal"})
IZHIKEVICH = neuron_step(
    izhikevich,
    threshold=lambda V_m, U_m, *, V_th=30.0: V_m - V_th,
    reset=lambda V_m, U_m, *, c, d: (c, U_m + d),
)
HODGKIN_HUXLEY = neuron_step(hodgkin_huxley, threshold=lambda V_m, *_: V_m, held=())


def axon_step(V_m, m, h, n, refractory, I_e, **named):
    return HODGKIN_HUXLEY(V_m, m, h, n, refractory, I_e=I_e, **named)


def _axons(size):
    def make(rng, dtype, _):
        rest = [np.full(size, x, dtype) for x in (-65, 0.05, 0.6, 0.32, 0)]
        return (*rest, rng.uniform(0, 20, size).astype(dtype)), {"t_ref": 3.0, "dt": 0.01}

    return make


AXON = Operator(
    "hodgkin_huxley",
    axon_step,
    kernel,
    ("float32",),
    tuple(Case(name, _axons(size)) for size, name in CASES.items()),
    bench=Bench(carried={i: i for i in range(5)}),
)
OPERATORS = {x.name: x for x in (*operators(), AXON) if x.name in ("lif_step", "izhikevich_step", AXON.name)}


def lif_step(V_m, refractory, I_syn, **named):
    return LIF(V_m, refractory, I_syn=I_syn, **named)


def number_of_step(V_m):
    """Return a number that is another one in each step, since the noise moves V_m."""
    return jax.lax.bitcast_convert_type(V_m[0], np.uint32)


def noise_in_the_pass(V_m, refractory, I_syn, **named):
    return DRAWING(V_m, refractory, I_syn=I_syn, seed=7, step=number_of_step(V_m), **named)


def noise_of_the_operator(V_m, refractory, I_syn, **named):
    xi = normal_input(jnp.zeros_like(V_m), 1.0, 7, number_of_step(V_m))
    return GIVEN(V_m, refractory, I_syn=I_syn, xi=xi, **named)


def noise_of_jax(V_m, refractory, I_syn, **named):
    key = jax.random.fold_in(jax.random.key(7), number_of_step(V_m))
    return GIVEN(V_m, refractory, I_syn=I_syn, xi=jax.random.normal(key, V_m.shape), **named)


def room_for_spikes(V_m):
    return V_m.size // 50


def and_listed(step):
    """Return the step, followed by a call that lists the spikes."""

    def both(V_m, *others, **named):
        after = step(V_m, *others, **named)
        return *after, *spike_compact(after[-1], capacity=room_for_spikes(V_m))

    return both


def lif_listed(V_m, *others, **named):
    return lif_step(V_m, *others, capacity=room_for_spikes(V_m), **named)


BY_HAND_LISTED = and_listed(OPERATORS["lif_step"].function)
OPERATORS[LISTED] = replace(OPERATORS["lif_step"], name=LISTED, function=BY_HAND_LISTED)
OPERATORS[NOISY] = replace(OPERATORS["lif_step"], name=NOISY)
MODELS = {
    "lif_step": lif_step,
    LISTED: lif_listed,
    NOISY: noise_in_the_pass,
    "izhikevich_step": lambda V_m, U_m, I_syn, **named: IZHIKEVICH(V_m, U_m, I_syn=I_syn, **named),
    AXON.name: axon_step,
}


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SIZES)
    cells = [(name, size, member) for name in MODELS for size in sizes for member in members_of(name)]
    metafunc.parametrize(("neuron", "size", "member"), cells)


def members_of(neuron):
    """Return the functions that are timed, by name."""
    operator, model = OPERATORS[neuron], MODELS[neuron]
    if neuron == NOISY:
        others = {OPERATOR_FIRST: noise_of_the_operator, JAX_FIRST: noise_of_jax, WITHOUT: operator.function}
        return {A_MODEL: model, **others}
    by_hand = {} if operator is AXON else {BY_HAND: operator.function}
    in_two = {IN_TWO_CALLS: and_listed(lif_step)} if neuron == LISTED else {}
    return {A_MODEL: model, **in_two, **by_hand, IN_JAX: functools.partial(model, backend="reference")}


@functools.lru_cache(maxsize=1)
def steps(neuron, size):
    operator = OPERATORS[neuron]
    problem = make_problem(operator, next(x for x in operator.cases if x.name == CASES[size]))
    functions = members_of(neuron).items()
    return {name: steps_of(problem, functools.partial(f, **problem.kwargs)) for name, f in functions}


def test_neurons(in_turns, benchmark, neuron, size, member):
    benchmark.group = f"{neuron}, {size:,} neurons"
    info = {"neurons": size}
    # Other noise, and none, gives other potentials.
    options = {"rtol": None} if neuron == NOISY else {}
    in_turns(steps(neuron, size), member, rivals=RIVALS, info=info, **options)
