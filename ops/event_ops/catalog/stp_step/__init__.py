"""The operator `stp_step`, which op.py defines."""
