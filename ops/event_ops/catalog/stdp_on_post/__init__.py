"""The operator `stdp_on_post`, which op.py defines."""
