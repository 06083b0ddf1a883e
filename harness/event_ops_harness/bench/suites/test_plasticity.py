"""Time plasticity rules: STDP beside the same by hand, decay at visits beside decay at every step.

Of 100,000 neurons x 100 synapses.

A step of a loop in machine code, in which 1000 to 30,000 neurons spike, other ones at each step, each of them
in its turn, and weights change in place, in the same memory for all who are timed. `stdp_on_pre` and
`stdp_on_post` are rules of one synapse, which are compiled as any rule of a user is; the kernels by hand do
nothing else than pair-based STDP. BrainEvent takes the same rule in `csr_apply_on_pre` and
`csr_apply_on_post`, which its release for Python 3.11 lacks. The exponent of time = factor * spikes **
exponent is with the most spikes. Of the 4000 neurons on both sides of a dense matrix as large a share spikes;
the rival there is XLA, which computes the rule for all synapses, and chooses.

"decay" is a trace of each synapse to which presynaptic spikes add: `plasticity.decaying`, which advances it
when its neuron spikes, beside a pass over all synapses at each step and the same rule without it.

Not measured: the time to trace and to compile.

`--sizes` are other numbers of spikes; `-k on_pre`, `-k on_post` and `-k decay` choose.
"""

import functools
from collections import defaultdict
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import plasticity
from event_ops.cases import BENCHMARK
from event_ops.discover import operators
from event_ops_harness.bench import noise, options, stdp_by_hand
from event_ops_harness.bench.rivals import rivals_of
from event_ops_harness.bench.steps import event_place, make_problem, steps_of

SPIKES = (1000, 3000, 10_000, 30_000)
NEURONS = 100_000  # of the operators' largest case
DENSE = 4000  # neurons of a dense matrix, on both sides
SIDES = ("stdp_on_pre", "stdp_on_post")
RULE, BY_HAND, XLA = "a rule", "by hand", "XLA"
DECAY, LAZY, EVERY_STEP = "decay", "at visits", "at every step"
TAU = 20.0  # steps
UNBOUNDED = 1 << 30  # steps: weights with bounds do not get denormal, and starting anew would be timed
OPERATORS = {operator.name: operator for operator in operators() if operator.name in SIDES}
CURVES = defaultdict(dict)  # (side, member) -> spikes -> seconds, of this run


def depress(w, *, x_post, A_minus, w_min, w_max):
    return jnp.clip(w - A_minus * x_post, w_min, w_max)


def potentiate(w, *, x_pre, A_plus, w_min, w_max):
    return jnp.clip(w + A_plus * x_pre, w_min, w_max)


def eligible(c, *, x_post):
    return c + x_post


def at_visits(c, last, t, indices, indptr, spikes, x_post, **named):
    rule = plasticity.decaying(eligible, c=TAU)
    new = plasticity.on_pre(rule, (c, last), indices, indptr, spikes, x_post=x_post, t=t, **named)
    return *new, t + 1


def now(state):
    """Return the traces of all synapses at the last step."""
    c, last, t = state
    return plasticity.decayed(c, last, t - 1, TAU)


def at_every_step(c, last, t, indices, indptr, spikes, x_post, **named):
    c = c * jnp.exp(-1 / TAU)
    # `last` goes along unused, so that both ways have states alike.
    return plasticity.on_pre(eligible, c, indices, indptr, spikes, x_post=x_post, **named), last, t + 1


def dense_on_pre(w, spikes, x_post, **named):
    return plasticity.on_pre(depress, w, spikes_pre=spikes, x_post=x_post, **named)


def dense_on_post(w, spikes, x_pre, **named):
    return plasticity.on_post(potentiate, w, spikes_post=spikes, x_pre=x_pre, **named)


def chosen_on_pre(w, spikes, x_post, **named):
    return jnp.where(spikes[:, None], depress(w, x_post=x_post, **named), w)


def chosen_on_post(w, spikes, x_pre, **named):
    return jnp.where(spikes, potentiate(w, x_pre=x_pre[:, None], **named), w)


HANDS = dict(zip(SIDES, (stdp_by_hand.on_pre, stdp_by_hand.on_post), strict=True))
OF_DENSE = {
    "stdp_on_pre": {RULE: dense_on_pre, XLA: chosen_on_pre},
    "stdp_on_post": {RULE: dense_on_post, XLA: chosen_on_post},
}


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SPIKES)
    if "dense_size" in metafunc.fixturenames:
        metafunc.parametrize("dense_size", sizes)
        return
    cells = [
        (side, size, member)
        for side in SIDES
        for size in sizes
        for member in (RULE, BY_HAND, *rivals_of(side))
    ]
    cells += [(DECAY, size, member) for size in sizes for member in (LAZY, EVERY_STEP)]
    metafunc.parametrize(("side", "size", "member"), cells)


@functools.lru_cache(maxsize=1)
def problem_of(side, size):
    """Return the largest case of the operator, or of decay, with this many spikes."""
    operator = OPERATORS[side if side != DECAY else SIDES[0]]
    problem = make_problem(operator, operator.tagged(BENCHMARK)[-1])
    place: Any = event_place(operator, problem.args)
    spikes = np.random.default_rng(0).permutation(np.arange(NEURONS) < size)
    args = [spikes if i == place else x for i, x in enumerate(problem.args)]
    if side != DECAY:
        return replace(problem, args=tuple(args), varying=place, turning=True, lifetime=UNBOUNDED)
    # No synapse was visited yet: the last time lies before the first step.
    state = args[0], np.full_like(args[0], -1), np.float32(0)
    # The events stand two places further back: times are arguments, too.
    carried, kwargs = {0: 0, 1: 1, 2: 2}, {"shape": problem.kwargs["shape"]}
    return replace(problem, args=(*state, *args[1:]), kwargs=kwargs, varying=place + 2, carried=carried)


@functools.lru_cache(maxsize=1)
def members_of(side, size):
    problem = problem_of(side, size)
    if side == DECAY:
        lazily, always = (
            steps_of(problem, functools.partial(f, **problem.kwargs)) for f in (at_visits, at_every_step)
        )
        return {LAZY: replace(lazily, values=now), EVERY_STEP: replace(always, values=lambda state: state[0])}
    functions = {RULE: problem.operator.function, BY_HAND: HANDS[side]}
    ours = {name: steps_of(problem, functools.partial(f, **problem.kwargs)) for name, f in functions.items()}
    return ours | {name: make(problem) for name, make in rivals_of(side).items()}


@functools.lru_cache(maxsize=1)
def dense_members_of(side, size):
    problem, rng = problem_of(side, size), np.random.default_rng(0)
    spikes, trace = rng.permutation(np.arange(DENSE) < size * DENSE // NEURONS), rng.random(DENSE)
    args = rng.random((DENSE, DENSE)).astype(np.float32), spikes, trace.astype(np.float32)
    named = {name: value for name, value in problem.kwargs.items() if name != "shape"}
    dense = replace(problem, args=args, varying=1)
    return {name: steps_of(dense, functools.partial(f, **named)) for name, f in OF_DENSE[side].items()}


@pytest.mark.parametrize("dense_member", [RULE, XLA])
@pytest.mark.parametrize("dense_side", SIDES)
def test_dense_plasticity(in_turns, benchmark, dense_side, dense_size, dense_member):
    share = dense_size * DENSE // NEURONS
    benchmark.group = f"{dense_side}, dense, {share:,} of 4,000 neurons spike"
    info = {"spikes": share}
    in_turns(dense_members_of(dense_side, dense_size), dense_member, rivals={XLA}, info=info)


def test_plasticity(in_turns, benchmark, pytestconfig, side, size, member):
    benchmark.group = f"{side}, {size:,} of 100,000 neurons spike"
    info = {"spikes": size}
    in_turns(members_of(side, size), member, rivals={BY_HAND, EVERY_STEP, *rivals_of(side)}, info=info)
    if not benchmark.stats:
        return
    curve = CURVES[side, member]
    curve[size] = benchmark.stats["median"]
    if size == max(options.counts(pytestconfig, "sizes", SPIKES)):
        benchmark.extra_info |= noise.exponent(curve)
