"""The operator `csr_scale_rows`: see op.py for what it computes."""
