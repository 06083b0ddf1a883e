"""`neuron_step`: a neuron model of one's own, compiled into one pass over a population."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.spike_compact.op import list_outs
from event_ops.checks.arrays import (
    FLOATS,
    check_dtype,
    check_positive,
    check_rank,
    check_same_dtype,
    check_shape,
)
from event_ops.checks.inputs import as_input, flattened, shaped
from event_ops.checks.procedural import words_of_step
from event_ops.codegen.function import ALL, Traced, name_of
from event_ops.codegen.operators import as_variable, define_kernel
from event_ops.kernels.reference.noise import tables_of
from event_ops.kernels.reference.spiking import Surrogate, check_surrogate, spikes_out
from event_ops.neurons.model import DRAWN, REFRACTORY, SUBJECT, Model, advance, misnamed

_INTEGERS = ("int32", "int64", "uint32", "uint64")
EACH = "each"  # the place of an input that has a value for each neuron


@dataclass(frozen=True)
class NeuronStep:
    """`*states, spikes = step(*states, **variables)`: one step of all neurons, made by `neuron_step`."""

    model: Model

    def __repr__(self) -> str:
        return f"neuron_step({name_of(self.model.integrate)})"

    def __call__(
        self,
        *states: ArrayLike,
        surrogate: Surrogate | None = None,
        capacity: int | None = None,
        backend: str | None = None,
        **variables: ArrayLike,
    ) -> tuple[Any, ...]:
        """Return the states after a step, and the spikes; with a capacity also spike_ids and num_spikes.

        Of a model with observed values, a dictionary of these arrays comes last.

        Args:
            states: in the order of the model, then the remaining refractory time if some are held; of any
                shape, all of one; float32 or float64, all of one dtype, or, but for the first and the
                refractory time, integers, which are counters without derivatives.
            surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
            capacity: length of spike_ids, static, >= 0, for the list that `spike_compact` makes of spikes;
                states have to be 1-d. None: there is no list.
            backend: run on this one or not at all; default: choose.
            variables: what the functions take by name: numbers, or arrays without dimensions, or of the shape
                of the states; the dtype of the states, or bool. If some are held, also t_ref and dt. If some
                are noise, in their place seed, step and, by default 0, first, as `normal_input` takes them.
        """
        check_surrogate(surrogate)
        each = self._checked_states(states)
        first = each[0]
        if capacity is not None:
            check_rank(self.model.states[0], first, 1, "one per neuron, where their spikes are listed")
        self._check_variables(variables)
        drawn, words = dict(self.model.noise), self._taken_words(variables, first.size)
        arrays = [as_variable(name, x, self.model.states[0], first) for name, x in variables.items()]
        for name, x in zip(variables, arrays, strict=True):
            check_shape(name, x, (), first.shape, why="one for all, or one per neuron, as the states")
        places = [EACH] * len(each) + [EACH if x.ndim else ALL for x in arrays] + [EACH] * len(drawn)
        flat = flattened(each, arrays)
        out = spikes_out(first, surrogate)
        listed = () if capacity is None else list_outs(first.size, capacity)
        model = self.model
        neuron = Traced.of(
            functools.partial(advance, model, surrogate),
            [*(x.dtype for x in flat), *(first.dtype for _ in drawn)],
            (*variables, *drawn),
            places,
            SUBJECT,
            results=[*(x.dtype for x in each), out.dtype, *[first.dtype] * len(model.observed)],
            written_as=model.functions,
        )
        seen = [jax.ShapeDtypeStruct((first.size,), first.dtype)] * len(model.observed)
        outs = (*(jax.ShapeDtypeStruct((first.size,), x.dtype) for x in each), out, *seen, *listed)
        static = {"neuron": neuron, "primitive": neuron.rare, "noise": tuple(drawn.values())}
        after = kernel(*flat, *words, outs=outs, backend=backend, **static)
        stepped = shaped(after[: neuron.count], first.shape)
        observed = dict(zip(model.observed, stepped[len(each) + 1 :], strict=True))
        named = (observed,) if observed else ()
        return (*stepped[: len(each) + 1], *after[neuron.count :], *named)

    def _checked_states(self, states: Sequence[Any]) -> list[jax.Array]:
        names = self.model.states if self.model.held is None else (*self.model.states, REFRACTORY)
        if len(states) != len(names):
            raise TypeError(
                f"{self!r} is given {len(states)} state(s); expected {len(names)}: {', '.join(names)}; all "
                "else goes by name"
            )
        each = [as_input(x, name) for name, x in zip(names, states, strict=True)]
        check_dtype(names[0], each[0], FLOATS)
        for name, x in zip(names[1:], each[1:], strict=True):
            if name == REFRACTORY or not jnp.issubdtype(x.dtype, jnp.integer):
                check_same_dtype(name, x, names[0], each[0])
            else:
                check_dtype(name, x, _INTEGERS)
            check_shape(name, x, each[0].shape, why=f"one per neuron, as {names[0]}")
        return each

    def _check_variables(self, variables: dict[str, Any]) -> None:
        expected = self.model.variables
        if wrong := misnamed(variables, expected):
            raise TypeError(
                f"{self!r} is given {wrong}; expected by name: {', '.join(expected) or 'nothing'}"
            )
        if self.model.held is not None:
            check_positive("dt", variables["dt"])
            check_positive("t_ref", variables["t_ref"], zero=True)

    def _taken_words(self, variables: dict[str, Any], size: int) -> tuple[jax.Array, ...]:
        """Take seed, step and first out of the variables; return them, and the table of the numbers."""
        if not self.model.noise:
            return ()
        seed, step, first = (variables.pop(name, 0) for name in DRAWN)
        return (*words_of_step(seed, step, first, size), tables_of(*dict(self.model.noise).values()))


def neuron_step(
    integrate: Callable[..., Any],
    *,
    threshold: Callable[..., Any],
    reset: Callable[..., Any] | None = None,
    held: Sequence[str] | None = None,
    observed: Sequence[str] = (),
    noise: Mapping[str, str] | None = None,
) -> NeuronStep:
    """`V = integrate(V, ...)`; where `threshold(V, ...) > 0`, a spike and `V = reset(V, ...)`: any neuron.

    The functions are those of one neuron, in JAX, where every argument is a scalar: all states by position,
    other variables by name, behind a `*`, each function those that it needs. They are the definition, whose
    derivatives JAX takes; traced together, they are compiled into one pass over a population, for the CPU or
    a GPU, in place where the old states are not needed again.

    The result is called as the neurons of the catalog are: `*states, spikes = step(*states, **variables)`. If
    states are held, the remaining refractory time is one more state, behind the others, and t_ref and dt are
    variables, as in `lif_step`: a neuron with refractory > dt / 2 cannot spike, its held states stay, all
    others go on, and refractory falls by dt, to 0 at the least; a spike sets it to t_ref, so that t_ref / dt
    held steps follow, rounded.

    Differentiable in states and variables, by the derivatives of the functions; there is none through the
    spike that resets (it is detached). Spikes have none either, unless there is a surrogate: then they are
    floats whose derivative is surrogate(x) * dx, where x is what threshold returns, and 0 in neurons that
    are held; and a state that reset returns as a sum with what does not depend on it, such as `w + b` or
    `V_m - V_th`, has this derivative, times what is added. States that are held hide what is NaN or infinite
    in their neuron from first derivatives. Each result depends on one neuron alone, so that it is the same
    for any number of threads.

    A model is traced once, and again when a number or a function that it reads from outside has changed;
    models that compute the same share one kernel. On the CPU, `jnp.exp`, `jnp.expm1`, `jnp.tanh` and
    `jax.nn.sigmoid` vectorise; logarithms, sines and powers of a neuron's values keep the step from it. What
    follows from numbers for all neurons alone, such as `jnp.exp(-dt / tau_m)`, is computed once per step.

    Args:
        integrate: `integrate(V_m, ..., *, I_syn, ...)` returns the new states, one or a tuple. It may use
            arithmetic, comparisons, `jnp.where`, `jnp.select`, `jnp.exp` and other functions of scalars, and
            what is made of them in JAX; `jax.lax.cond`, of which both branches are computed; loops of a known
            number of turns, such as substeps by `jax.lax.fori_loop`; arrays of at most 1024 numbers, as for
            `jnp.interp`. What is written out may have 4096 operations; loops of more than 64 stay loops.
        threshold: returns a number that is above 0 where the neuron spikes, such as `V_m - V_th`, or a flag,
            which no surrogate can be given to. It gets the states after integration, and by name, with
            `_before` behind a state's, those before the step: `V_m_before > V_m` where V_m falls.
        reset: returns the states after a spike, from those before; None: they stay.
        held: names of the states that stay in the refractory time, such as `("V_m",)`; () for none, where
            that only keeps neurons from spiking; None: there is no refractory time.
        observed: names of values to record, such as a current: integrate returns them behind the states, in
            a dictionary, `return V_m, w, {"I_K": I_K}`, and the step as arrays in one, behind all else. In
            neurons that are held they are those of the states as they are.
        noise: variables of the functions, at most 4, that each step draws anew for each neuron, as it passes:
            `{"xi": "normal"}` for mean 0 and variance 1, "uniform" for [0, 1). They are not given; seed and
            step are. The first is what `normal_input(zeros, 1, seed, step)` draws, or `uniform_input`, the
            next those of stream=1, and so on: the same bits on every backend, of neurons in their flat order.

    Returns:
        A `NeuronStep`. The states may have any shape, all the same, float32 or float64, all one dtype, or
        integers for any but the first; variables are numbers, or arrays without dimensions or of that shape,
        of that dtype or bool. Spikes have the shape, and are bool, or with a surrogate 0 and 1 in the dtype;
        a capacity adds their list.

    Raises:
        TypeError: functions that do not take the same states. When called: a dtype or a variable that does
            not fit, what is no number of the dtype, or a flag from threshold and a surrogate.
        ValueError: held names no states, observed is no tuple of names, noise names no variables or no
            distribution, or a variable has the name of an argument. When called: a shape that does not fit,
            another number of values, what kernels lack,
            which the error names with its line, or dt <= 0 or t_ref < 0 where their values are known when
            traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import neuron_step
        >>> def lif(V_m, *, I_syn, E_L, tau_m, dt):
        ...     V_inf = E_L + I_syn
        ...     return V_inf + (V_m - V_inf) * jnp.exp(-dt / tau_m)
        >>> def above(V_m, *, V_th):
        ...     return V_m - V_th
        >>> def reset(V_m, *, V_reset):
        ...     return V_reset
        >>> step = neuron_step(lif, threshold=above, reset=reset, held=("V_m",))
        >>> neuron = {"tau_m": 20.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 2.0, "dt": 1.0}
        >>> V_m, refractory, spikes = step(jnp.array([-51.0, -60.0]), jnp.zeros(2), I_syn=40.0, **neuron)
        >>> spikes, refractory
        (Array([ True, False], dtype=bool), Array([2., 0.], dtype=float32))

    Source: the form is that of Stimberg, Brette and Goodman (2019), eLife 8, e47314 (Brian2's NeuronGroup).
    """
    return NeuronStep(Model.of(integrate, threshold, reset, held, observed, noise))


kernel = define_kernel("neuron_step", "event_ops.neurons", "neuron", "elementwise")
