"""The operator `read_slot`, which op.py defines."""
