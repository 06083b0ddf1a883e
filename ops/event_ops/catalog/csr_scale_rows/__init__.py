"""The operator `csr_scale_rows`, documented in op.py."""
