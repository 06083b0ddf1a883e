"""The operator `csr_matvec`: see op.py for what it computes."""
