"""The operator `stdp_on_post`: see op.py for what it computes, reference.py for its definition."""
