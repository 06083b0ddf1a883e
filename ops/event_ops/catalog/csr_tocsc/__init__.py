"""The operator `csr_tocsc`: see op.py for what it computes, reference.py for its definition."""
