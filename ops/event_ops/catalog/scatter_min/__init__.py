"""The operator `scatter_min`, which op.py defines."""
