"""Rules of the literature, to be given to `on_pre` and `on_post`, or to these methods of a matrix."""

import math
from typing import Any

import jax
import jax.numpy as jnp


def triplet_pre(
    w: Any, *, r2_pre: Any, o1_post: Any, A2_minus: Any, A3_minus: Any, w_min: Any = -math.inf
) -> jax.Array:
    """`w = max(w - o1_post * (A2_minus + A3_minus * r2_pre), w_min)`: triplets, at a presynaptic spike.

    Each neuron has two traces, to which a spike adds 1: r1_pre and the slower r2_pre of presynaptic neurons,
    which decay with tau_plus and tau_x, and o1_post and the slower o2_post of postsynaptic ones, with
    tau_minus and tau_y. A spike reads the slow trace of its own neuron as it was before it: call `on_pre`
    first, then add to r2_pre.

    Args:
        w: the weight.
        r2_pre: the slow presynaptic trace, without this spike.
        o1_post: the fast postsynaptic trace.
        A2_minus: what a pair changes, in the unit of w.
        A3_minus: what a triplet changes, in the unit of w.
        w_min: lower bound of w.

    Returns:
        w.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import plasticity
        >>> spike, W = jnp.array([True]), jnp.full((1, 1), 0.5)
        >>> values = {"r2_pre": jnp.ones(1), "o1_post": jnp.ones(1), "A2_minus": 0.125, "A3_minus": 0.125}
        >>> plasticity.on_pre(plasticity.triplet_pre, W, spikes_pre=spike, **values)
        Array([[0.25]], dtype=float32)

    Source: Pfister and Gerstner (2006), J. Neurosci. 26, 9673-9682, equation 3; their table 4 has the rates.
    """
    return jnp.maximum(w - o1_post * (A2_minus + A3_minus * r2_pre), w_min)


def triplet_post(
    w: Any, *, r1_pre: Any, o2_post: Any, A2_plus: Any, A3_plus: Any, w_max: Any = math.inf
) -> jax.Array:
    """`w = min(w + r1_pre * (A2_plus + A3_plus * o2_post), w_max)`: triplets, at a postsynaptic spike.

    The traces are those of `triplet_pre`. Call `on_post` first, then add to o2_post.

    Args:
        w: the weight.
        r1_pre: the fast presynaptic trace.
        o2_post: the slow postsynaptic trace, without this spike.
        A2_plus: what a pair changes, in the unit of w.
        A3_plus: what a triplet changes, in the unit of w.
        w_max: upper bound of w.

    Returns:
        w.

    Source: Pfister and Gerstner (2006), J. Neurosci. 26, 9673-9682, equation 4.
    """
    return jnp.minimum(w + r1_pre * (A2_plus + A3_plus * o2_post), w_max)


def vogels_pre(w: Any, *, x_post: Any, eta: Any, alpha: Any, w_max: Any = math.inf) -> jax.Array:
    """`w = clip(w + eta * (x_post - alpha), 0, w_max)`: inhibition that balances, at a presynaptic spike.

    At inhibitory synapses, whose weights are sizes here, near-coincident spikes strengthen whatever their
    order is, and a presynaptic spike by itself weakens: with alpha = 2 * rho * tau the postsynaptic neuron
    comes to a rate of rho. The traces x of both sides decay with tau, and a spike adds 1 to them.

    Args:
        w: the weight, >= 0.
        x_post: the postsynaptic trace.
        eta: the rate of learning, in the unit of w.
        alpha: what a presynaptic spike takes away.
        w_max: upper bound of w.

    Returns:
        w.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import plasticity
        >>> spike, W = jnp.array([True]), jnp.full((1, 1), 0.5)
        >>> of_post = {"x_post": jnp.array([0.5]), "eta": 0.5, "alpha": 0.25}
        >>> plasticity.on_pre(plasticity.vogels_pre, W, spikes_pre=spike, **of_post)
        Array([[0.625]], dtype=float32)

    Source: Vogels, Sprekeler, Zenke, Clopath and Gerstner (2011), Science 334, 1569-1573.
    """
    return jnp.clip(w + eta * (x_post - alpha), 0, w_max)


def vogels_post(w: Any, *, x_pre: Any, eta: Any, w_max: Any = math.inf) -> jax.Array:
    """`w = min(w + eta * x_pre, w_max)`: inhibition that balances, at a postsynaptic spike.

    The counterpart of `vogels_pre`.

    Args:
        w: the weight, >= 0.
        x_pre: the presynaptic trace.
        eta: the rate of learning, in the unit of w.
        w_max: upper bound of w.

    Returns:
        w.

    Source: Vogels, Sprekeler, Zenke, Clopath and Gerstner (2011), Science 334, 1569-1573.
    """
    return jnp.minimum(w + eta * x_pre, w_max)
