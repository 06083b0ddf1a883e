"""Functions of scalars, like a rule of one synapse: traced by JAX, and emitted as source for kernels."""
