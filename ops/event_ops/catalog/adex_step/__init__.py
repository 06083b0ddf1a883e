"""The operator `adex_step`, which op.py defines."""
