"""The operator `csr_normalize`: see op.py for what it computes."""
