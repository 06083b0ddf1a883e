"""The operator `csr_matmat`: see op.py for what it computes."""
