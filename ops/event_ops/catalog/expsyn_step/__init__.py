"""The operator `expsyn_step`, which op.py defines."""
