"""The operator `stdp_on_pre`: see op.py for what it computes, reference.py for its definition."""
