"""The plasticity of a projection: rules of one synapse at spikes of both sides, and the traces they read."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import as_array
from event_ops.checks.inputs import is_number
from event_ops.checks.keywords import known_flags, known_integer
from event_ops.codegen.function import Traced, name_of
from event_ops.kernels.reference.decay import decay_factor
from event_ops.network.parts import number
from event_ops.plasticity.apply_rule import traced_rule
from event_ops.sparse.csr import CSR
from event_ops.sparse.pytree import register

WEIGHT: Final = "w"  # of the state of a projection: the name of its weights


@dataclass(frozen=True, eq=False, init=False)
class Plasticity:
    """`w[i, j] = on_pre(w[i, j], ...)` where a spike of neuron i arrives: the weights of a projection learn.

    And `w[i, j] = on_post(w[i, j], ...)`, `post_delay` steps after a spike of neuron j. In a step

    1. traces decay: `x *= exp(-dt / tau)`;
    2. on_pre changes the synapses at which a spike arrives, and their new weights are delivered;
    3. on_post changes those of the neurons whose spikes come back;
    4. 1 is added to the traces of neurons whose spikes arrived, or came back.

    But presynaptic traces rise behind on_pre: on_post reads them with the spikes of this step, as in Brian2,
    and all other traces are read without them. With `post_first` on_post acts before on_pre, and neither
    reads a trace with the spikes of this step, as in NEST. A pytree; variables that are arrays are leaves,
    numbers are static.

    Where a delay d is that of the dendrite, as in NEST, a synapse meets its spike d steps before it arrives,
    and the spike of the neuron d steps after: `delay=d, post_delay=2 * d` has the same differences.

    Args:
        on_pre: a rule, as `event_ops.plasticity.on_pre` takes it, whose one synaptic variable is the weight.
        on_post: a rule for `event_ops.plasticity.on_post`.
        traces: name -> time constant, a number > 0 in the unit of dt. By its name a trace is one of
            presynaptic neurons, as x_pre, or of postsynaptic ones, as x_post.
        dt: the time step; needed with traces.
        post_delay: in steps, >= 0.
        post_first: whether on_post acts before on_pre.
        variables: what the rules take by name beside the traces, each by the same: numbers, or arrays of the
            dtype of the weights, (presynaptic,) for names that end with _pre, (postsynaptic,) for those that
            end with _post, (nse,) for others.

    Raises:
        TypeError: no rule, a rule that takes what is not given, a variable that no rule takes, or a trace
            without dt; a time constant or dt that is no number: decays are compiled in.
        ValueError: a trace of another name, a time constant or dt <= 0, or post_delay < 0 or >= 2**31 - 1.

    Example:
        >>> from event_ops.network import Plasticity
        >>> from event_ops.plasticity import vogels_post, vogels_pre
        >>> traces = {"x_pre": 20.0, "x_post": 20.0}
        >>> rates = {"eta": 0.01, "alpha": 0.12, "w_max": 9.0}
        >>> learning = Plasticity(vogels_pre, vogels_post, traces=traces, dt=0.1, **rates)

    Source: the order is that of the pathways of Stimberg, Brette and Goodman (2019), eLife 8, e47314; that of
    post_first is in Morrison, Diesmann and Gerstner (2008), Biol. Cybern. 98, 459-478.
    """

    on_pre: Callable[..., Any] | None
    on_post: Callable[..., Any] | None
    traces: tuple[tuple[str, float], ...]
    dt: float | None
    post_delay: int
    post_first: bool
    numbers: tuple[tuple[str, Any, str], ...]
    arrays: dict[str, jax.Array]

    def __init__(
        self,
        on_pre: Callable[..., Any] | None = None,
        on_post: Callable[..., Any] | None = None,
        *,
        traces: Mapping[str, float] | None = None,
        dt: float | None = None,
        post_delay: int = 0,
        post_first: bool = False,
        **variables: Any,
    ) -> None:
        named, lag = dict(traces or {}), known_integer("post_delay", post_delay)
        _check_rules((on_pre, on_post), named, variables)
        _check_times(named, dt)
        if not 0 <= lag < (1 << 31) - 1:
            raise ValueError(f"post_delay is {lag}; expected >= 0, in steps, and below 2**31 - 1")
        # As of a population, numbers are static, and their text tells apart those that are equal.
        plain = {name: number(x) for name, x in variables.items() if is_number(x)}
        arrays = {name: as_array(x, name) for name, x in variables.items() if name not in plain}
        numbers = tuple((name, x, repr(x)) for name, x in plain.items())
        taus = tuple((name, float(tau)) for name, tau in named.items())
        vars(self).update(on_pre=on_pre, on_post=on_post, traces=taus, dt=None if dt is None else float(dt))
        vars(self).update(
            post_delay=lag, **known_flags(post_first=post_first), numbers=numbers, arrays=arrays
        )

    @property
    def returns_at_once(self) -> bool:
        """Return whether synapses learn of postsynaptic spikes within the step of the spikes."""
        return self.post_delay == 0 and (self.on_post is not None or bool(self.names("post")))

    def names(self, side: str) -> tuple[str, ...]:
        """Return the names of the traces of a side, "pre" or "post"."""
        return tuple(name for name, _ in self.traces if name.endswith(f"_{side}"))

    def decays(self, side: str, dtype: Any) -> list[Any]:
        """Return the factors of the traces of a side in a step."""
        taus = dict(self.traces)
        return [decay_factor(taus[name], self.dt, dtype) for name in self.names(side)]

    def taken(self, rule: Callable[..., Any], traces: Mapping[str, jax.Array]) -> dict[str, Any]:
        """Return the arguments of a rule by name: traces and variables."""
        given = {**traces, **{name: x for name, x, _ in self.numbers}, **self.arrays}
        return {name: x for name, x in given.items() if name in _names_of(rule)}

    def traced(
        self, axis: int, A: CSR, traces: Mapping[str, jax.Array]
    ) -> tuple[Traced, dict[str, jax.Array]]:
        """Return on_pre (axis 0) or on_post (1), traced, and its arguments by name, as arrays."""
        rule: Any = (self.on_pre, self.on_post)[axis]
        variables, w = self.taken(rule, traces), jax.ShapeDtypeStruct(A.indices.shape, A.dtype)
        traced, arrays = traced_rule(rule, [w], variables, w.shape, A.shape, axis)
        return traced, dict(zip(variables, arrays, strict=True))

    def check(self, A: CSR) -> None:
        """Raise unless the rules and the arrays that they take fit a matrix."""
        ends = zip(("pre", "post"), A.shape, strict=True)
        traces = {name: jnp.zeros(n, A.dtype) for side, n in ends for name in self.names(side)}
        for axis, rule in enumerate((self.on_pre, self.on_post)):
            if rule is not None:
                self.traced(axis, A, traces)


register(
    Plasticity,
    ("arrays",),
    ("on_pre", "on_post", "traces", "dt", "post_delay", "post_first", "numbers"),
    "event_ops.network.Plasticity",
)


def _names_of(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments of a rule behind the weight."""
    return tuple(inspect.signature(rule).parameters)[1:]


def _check_rules(rules: tuple[Any, ...], traces: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    rules = tuple(rule for rule in rules if rule is not None)
    if not rules:
        raise TypeError("Plasticity has no rule; expected on_pre, on_post, or both")
    both = [name for name in traces if name in variables]
    if both:
        raise TypeError(f"{both[0]} is a trace, and a variable; expected one of both")
    taken = {name for rule in rules for name in _names_of(rule)}
    for rule in rules:
        missing = [name for name in _names_of(rule) if name not in traces and name not in variables]
        if missing:
            raise TypeError(
                f"the rule {name_of(rule)!r} takes {missing[0]}, which is neither a trace nor a variable of "
                "Plasticity; expected all that it takes by name; its one synaptic variable is the weight"
            )
    unused = [name for name in (*traces, *variables) if name not in taken]
    if unused:
        raise TypeError(f"{unused[0]} is given, and taken by no rule; expected what rules take by name")


def _check_times(traces: Mapping[str, Any], dt: Any) -> None:
    for name, x in {"dt": 0.0 if dt is None else dt, **traces}.items():
        if not is_number(x):
            raise TypeError(f"{name} is a {type(x).__name__}; expected a number, which is compiled in")
    for name, tau in traces.items():
        if dt is None:
            raise TypeError("dt is not given; expected the time step in which traces decay")
        if not name.endswith(("_pre", "_post")):
            raise ValueError(f"the trace {name} is of no side; expected a name that ends with _pre or _post")
        if not (tau > 0 and dt > 0):
            raise ValueError(f"{name} has the time constant {tau!r}, and dt is {dt!r}; expected numbers > 0")
