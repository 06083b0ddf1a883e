"""The operator `scatter_mul`, which op.py defines."""
