"""The operator `csr_todense`: see op.py for what it computes."""
