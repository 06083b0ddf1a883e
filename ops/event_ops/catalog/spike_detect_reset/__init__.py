"""The operator `spike_detect_reset`: see op.py for what it computes, reference.py for its definition."""
