"""The operator `csr_tocsc`: see op.py for what it computes."""
