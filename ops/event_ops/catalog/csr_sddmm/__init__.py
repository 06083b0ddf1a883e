"""The operator `csr_sddmm`: see op.py for what it computes, reference.py for its definition."""
