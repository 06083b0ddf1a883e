"""The operator `izhikevich_step`, which op.py defines."""
