"""The spike of a neuron: a threshold crossing, and the derivative that a surrogate gives it."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# x = V - V_th -> dS/dx, elementwise; hashable.
Surrogate = Callable[[jax.Array], jax.Array]


def check_surrogate(surrogate: Any) -> None:
    """Raise TypeError unless `surrogate` is None or a function of V - V_th."""
    if isinstance(surrogate, type):
        name = surrogate.__name__
        raise TypeError(f"surrogate is the class {name}; expected one of its values: call it, {name}()")
    if surrogate is not None and not callable(surrogate):
        raise TypeError(
            f"surrogate is {surrogate!r}; expected None or a pseudo-derivative, such as "
            "event_ops.surrogate.atan()"
        )


def spikes_out(V_m: jax.Array, surrogate: Surrogate | None) -> jax.ShapeDtypeStruct:
    """Return the output for the spikes of V_m, flat: bool, or a dtype that carries a derivative."""
    return jax.ShapeDtypeStruct((V_m.size,), bool if surrogate is None else V_m.dtype)


def crossings(V: jax.Array, V_th: jax.Array, surrogate: Surrogate | None) -> jax.Array:
    """V > V_th: bool, or 0 and 1 in the dtype of V with the derivative surrogate(V - V_th) in V - V_th."""
    return V_th < V if surrogate is None else _float_crossings(surrogate, V, V_th)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _float_crossings(surrogate: Surrogate, V: jax.Array, V_th: jax.Array) -> jax.Array:
    return (V_th < V).astype(V.dtype)


@_float_crossings.defjvp
def _pseudo_tangent(surrogate: Surrogate, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (V, V_th), (dV, dV_th) = primals, tangents
    return _float_crossings(surrogate, V, V_th), surrogate(V - V_th) * (dV - dV_th)


@jax.custom_jvp
def raised(after: jax.Array, rise: jax.Array, spikes: jax.Array) -> jax.Array:
    """Return `after`, to which a float spike added `rise`, with rise times the derivative of the spike."""
    return after


@raised.defjvp
def _raised_tangent(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (after, rise, _), (d_after, _, d_spikes) = primals, tangents
    return after, d_after + rise * d_spikes


@jax.custom_jvp
def as_ones(spikes: jax.Array) -> jax.Array:
    """Return 1 for each float that is not zero, else 0, with the derivative 1 everywhere."""
    return (spikes != 0).astype(spikes.dtype)


@as_ones.defjvp
def _ones_tangent(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return as_ones(*primals), tangents[0]


def is_held(refractory: jax.Array, dt: jax.Array) -> jax.Array:
    """Return whether the refractory time of each neuron lasts through this step."""
    # Half a step: what is left after whole steps is not quite 0 by rounding, and must not be one step more.
    return refractory > dt / 2


def approach(V_m: jax.Array, V_inf: jax.Array, decay: jax.Array) -> jax.Array:
    """Return V_m one step nearer to V_inf."""
    return V_inf + (V_m - V_inf) * decay


def unless(held: jax.Array, x: jax.Array) -> jax.Array:
    """Return x, whose derivative is 0 where a neuron is held."""
    return jnp.where(held, jax.lax.stop_gradient(x), x)


def unless_held(held: jax.Array, move: Callable[..., Any], *inputs: jax.Array) -> Any:
    """Return `move(*inputs)`, through which no derivative passes where a neuron is held.

    So 0 times what is infinite in such a neuron is not NaN; where it is held, the result is not to be used.
    """
    return move(*(unless(held, x) for x in inputs))


def at_spike(spike: jax.Array, value: Any) -> jax.Array:
    """Return spike * value, and 0 where a flag is False, whatever the value is."""
    return jnp.where(spike, value, 0) if spike.dtype == bool else spike * value


def fire(
    V_m: jax.Array,
    refractory: jax.Array,
    free: jax.Array,
    threshold: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return V_m, refractory and spikes of neurons that move to `free` unless they are held."""
    held = is_held(refractory, dt)
    V = jnp.where(held, V_m, free)
    spikes = crossings(V, threshold, surrogate)
    spikes = jnp.where(held, jnp.zeros((), spikes.dtype), spikes)
    reset = spikes.astype(bool)
    remaining = jnp.where(held, jnp.maximum(refractory - dt, 0), 0)
    return jnp.where(reset, V_reset, V), jnp.where(reset, t_ref, remaining), spikes
