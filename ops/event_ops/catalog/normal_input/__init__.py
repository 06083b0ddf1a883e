"""The operator `normal_input`, which op.py defines."""
