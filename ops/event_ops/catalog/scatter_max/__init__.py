"""The operator `scatter_max`, which op.py defines."""
