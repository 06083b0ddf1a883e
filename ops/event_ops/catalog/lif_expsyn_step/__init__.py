"""The operator `lif_expsyn_step`, which op.py defines."""
