"""The operator `axpy`: see op.py for what it computes, reference.py for its definition."""
