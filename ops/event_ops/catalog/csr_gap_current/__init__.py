"""The operator `csr_gap_current`: see op.py for what it computes."""
