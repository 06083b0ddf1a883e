"""The GPUs that JAX sees."""

import jax


def gpus():
    """NVIDIA's, of which there may be none."""
    try:
        return jax.devices("cuda")
    except RuntimeError:
        return []
