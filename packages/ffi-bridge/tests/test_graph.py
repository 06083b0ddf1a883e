"""The options for CUDA graphs are known to the installed XLA."""

import jax
import jax.numpy as jnp
import numpy as np

from ffi_bridge import graph_options


def test_options_are_accepted_and_change_nothing_on_a_cpu():
    def run(x):
        return jax.lax.fori_loop(0, 10, lambda _, x: x * 2 + 1, x)

    x = jnp.arange(4.0)
    found = jax.jit(run, compiler_options=graph_options())(x)
    np.testing.assert_array_equal(found, run(x))


def test_loops_and_custom_calls_are_recorded():
    options = graph_options()
    assert {"WHILE", "CUSTOM_CALL"} <= set(str(options["xla_gpu_enable_command_buffer"]).split(","))
    assert options["xla_gpu_graph_min_graph_size"] == 1
