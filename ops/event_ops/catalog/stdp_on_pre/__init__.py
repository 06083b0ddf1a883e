"""The operator `stdp_on_pre`: see op.py for what it computes."""
