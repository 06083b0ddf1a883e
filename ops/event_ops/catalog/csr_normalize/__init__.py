"""The operator `csr_normalize`: see op.py for what it computes, reference.py for its definition."""
