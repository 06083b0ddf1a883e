"""The operator `stdp_on_pre`, which op.py defines."""
