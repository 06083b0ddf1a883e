"""How conductances move a membrane in a step."""

import jax
import jax.numpy as jnp


def relax(
    V: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    g_L: jax.Array,
    leak: jax.Array,
    E_ex: jax.Array,
    E_in: jax.Array,
    rate: jax.Array,
) -> jax.Array:
    """V_inf + (V - V_inf) * exp(-rate * g) with g = g_L + g_ex + g_in, V_inf = sum of all g * E / g.

    leak is g_L * E_L + I_e; rate is dt / C_m. The conductances are means over the step.
    """
    total = g_L + g_ex + g_in
    V_inf = (leak + g_ex * E_ex + g_in * E_in) / total
    return V_inf + (V - V_inf) * jnp.exp(-rate * total)
