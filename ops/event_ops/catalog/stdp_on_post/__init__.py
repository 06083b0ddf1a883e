"""The operator `stdp_on_post`: see op.py for what it computes."""
