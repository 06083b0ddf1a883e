"""The operator `csr_rewire`: see op.py for what it computes."""
