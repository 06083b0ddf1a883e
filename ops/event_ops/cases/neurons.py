"""Cases of neurons: populations drawn at random, the cases that every neuron has, and its wrong calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from event_ops.cases import BENCHMARK, CONFORMANCE, Arguments, Case, InvalidCall, benchmark, changes_to
from event_ops.cases.draw import Draw, Make, drawn

# The COBA network's neuron (Brette et al. 2007, benchmark 1).
COBA: dict[str, Any] = {
    "tau_syn_ex": 5.0,
    "tau_syn_in": 10.0,
    "E_L": -60.0,
    "g_L": 10.0,
    "C_m": 200.0,
    "E_ex": 0.0,
    "E_in": -80.0,
    "V_th": -50.0,
    "V_reset": -60.0,
    "t_ref": 5.0,
    "dt": 0.1,
}
# Draws a state, one number for each neuron of a shape.
Distribution = Callable[[np.random.Generator, Any], Any]


def uniform(low: float, high: float) -> Distribution:
    """Return the uniform distribution between two numbers."""
    return lambda rng, size: rng.uniform(low, high, size)


def normal(mean: float, deviation: float) -> Distribution:
    """Return the normal distribution."""
    return lambda rng, size: rng.normal(mean, deviation, size)


def gamma(mean: float) -> Distribution:
    """Return a distribution of positive numbers, for example conductances, which has this mean."""
    return lambda rng, size: rng.gamma(2.0, mean / 2, size)


def held(steps: int) -> Distribution:
    """Return the refractory time that remains; a third of neurons is held, for less than `steps` steps."""
    return lambda rng, size: np.where(rng.random(size) < 0.3, rng.integers(1, steps, size) * 0.1, 0.0)


def sized(make: Callable[[int], Make], threads: int) -> tuple[Case, ...]:
    """Return cases of many elements: for all threads, and for benchmarks."""
    return (
        Case("threads", make(threads)),
        Case("4k", make(4000), frozenset({CONFORMANCE, BENCHMARK})),
        benchmark("100k", make(100_000)),
        benchmark("1M", make(1_000_000)),
    )


class Population(NamedTuple):
    """Neurons of which cases are made.

    Args:
        parameters: those of the neuron, by name.
        states: name -> distribution of the arrays that a step takes by position, V_m first.
        spread: by how much parameters differ where each neuron has its own, as a part of 1.
    """

    parameters: dict[str, Any]
    states: Mapping[str, Distribution]
    spread: float = 0.1

    def random(self, size: Any, *, each: bool = False, **options: Any) -> Make:
        """Return the `make` of neurons drawn at random; each: with parameters of their own."""
        return _random(self, size, each, options)

    def cases(
        self, differentiable: Sequence[int], threads: int, surrogate: Mapping[str, Any]
    ) -> tuple[Case, ...]:
        """Return the cases that every neuron has; surrogate: the options of the one with a surrogate."""
        moving = tuple(differentiable)
        return (
            Case("random", self.random(33), differentiable=moving),
            Case("each", self.random(33, each=True), differentiable=moving, tolerance=4),
            Case("grid", self.random((4, 5)), differentiable=moving),
            Case("surrogate", self.random(33, **surrogate)),
            Case("empty", self.random(0), differentiable=moving),
            Case("single", self.random(()), differentiable=moving),
            *sized(self.random, threads),
        )

    def conductance_cases(self, differentiable: Sequence[int], surrogate: Any) -> tuple[Case, ...]:
        """Return the cases of neurons with conductances g_ex and g_in, and with slopes of them or none."""
        moving, rest = tuple(differentiable), (0,) * (len(self.states) - 4)
        # At the threshold, near it, held above it, and NaN; some conductances are huge.
        potentials = [-50, -49.9, -50.1, -40, np.nan, -60, -60]
        refractory, g_ex = [0, 0, 0, 0.1, 0, 0, 0.1], [0, 0, 0, 0, 0, 1e9, np.inf]
        at_threshold = neurons(self.parameters | {"E_L": -50.0}, potentials, refractory, g_ex, 0, *rest)
        return (
            *self.cases(moving, 70_000, {"V_th": -55.0, "surrogate": surrogate}),
            Case("long-step", self.random(33, dt=1.0), differentiable=moving),
            # Currents of their own drive some over the threshold.
            Case("current", with_array(self.random(33), "I_e", 2000), differentiable=moving),
            Case("threshold", at_threshold),
        )

    def invalid_conductances(self, last: str) -> tuple[InvalidCall, ...]:
        """Return the wrong calls of neurons with conductances, of which `last` is one that is 0-d."""
        short, positive = ("refractory", "V_th", "I_e", "tau_syn_in"), ("tau_syn_ex", "C_m", "g_L", "dt")
        name, scalar = f"one-{last.removesuffix('_in')}", {last: np.zeros((), np.float32)}
        return (
            *self.invalid_calls(mixed="g_ex", short=short, positive=positive),
            self.wrong(name, ValueError, rf"{last} has shape \(\)", **scalar),
        )

    def wrong(self, name: str, error: type[Exception], match: str, /, **changes: Any) -> InvalidCall:
        """Return a call of three neurons that is right but for these arguments."""
        right = changes_to(dict.fromkeys(self.states, np.zeros(3, np.float32)), **self.parameters)
        return right(name, error, match, **changes)

    def invalid_calls(
        self, *, mixed: str = "", short: Sequence[str] = (), positive: Sequence[str] = ()
    ) -> tuple[InvalidCall, ...]:
        """Return the wrong calls that every neuron has.

        Args:
            mixed: the argument whose dtype is not the one of V_m; "": none.
            short: arguments that have another number of elements.
            positive: parameters that are 0 and must not be.
        """
        integers, two = np.zeros(3, np.int32), np.ones(2, np.float32)
        calls = [self.wrong("integer", TypeError, "V_m has dtype int32", V_m=integers)]
        if mixed:
            calls.append(
                self.wrong("mixed", TypeError, f"{mixed} has dtype int32 and V_m", **{mixed: integers})
            )
        for name in short:
            text = rf"{name}( or dt)? has shape \(2,\)"
            calls.append(self.wrong(f"short-{name}", ValueError, text, **{name: two}))
        for name in positive:
            calls.append(self.wrong(f"{name}-zero", ValueError, f"{name} is or contains 0.0", **{name: 0.0}))
        if "t_ref" in self.parameters:
            calls.append(self.wrong("t_ref-negative", ValueError, "t_ref is or contains -1.0", t_ref=-1.0))
        surrogate = "surrogate is 'atan'; expected None or"
        return *calls, self.wrong("surrogate", TypeError, surrogate, surrogate="atan")


@drawn
def _random(draw: Draw, of: Population, size: Any, each: bool, options: dict[str, Any]) -> Arguments:
    states = tuple(np.asarray(state(draw.rng, size)).astype(draw.dtype) for state in of.states.values())
    shape = states[0].shape
    parameters = draw.spread(of.parameters, shape, of.spread) if each else dict(of.parameters)
    return states, parameters | options


@drawn
def with_array(draw: Draw, make: Make, name: str, deviation: float) -> Arguments:
    """Give each neuron that `make` returns one more value, for example a current, drawn around 0."""
    state, parameters = make(*draw)
    values = draw.rng.normal(0, deviation, state[0].shape).astype(draw.dtype)
    return state, parameters | {name: values}


@drawn
def neurons(draw: Draw, parameters: Mapping[str, Any], *states: Any) -> Arguments:
    """Return neurons in the states that are given, one for each; a single number is one for all."""
    shape = np.shape(states[0])
    arrays = tuple(np.broadcast_to(np.asarray(x, draw.dtype), shape).copy() for x in states)
    return arrays, dict(parameters)
