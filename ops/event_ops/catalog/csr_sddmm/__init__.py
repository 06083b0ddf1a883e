"""The operator `csr_sddmm`: see op.py for what it computes."""
