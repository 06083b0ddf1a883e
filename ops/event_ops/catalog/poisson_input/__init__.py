"""The operator `poisson_input`, which op.py defines."""
