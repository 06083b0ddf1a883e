"""The operator `alif_step`, which op.py defines."""
