"""The operator `trace_decay`: see op.py for what it computes, reference.py for its definition."""
