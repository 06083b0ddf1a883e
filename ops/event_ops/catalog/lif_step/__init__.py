"""The operator `lif_step`, which op.py defines."""
