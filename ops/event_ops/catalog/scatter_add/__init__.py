"""The operator `scatter_add`, which op.py defines."""
