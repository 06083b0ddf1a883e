"""One call of native code from JAX: its primitive, buffers, outputs, and the target that XLA calls."""
