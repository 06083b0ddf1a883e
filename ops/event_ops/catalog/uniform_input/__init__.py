"""The operator `uniform_input`, which op.py defines."""
