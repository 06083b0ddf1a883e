"""The operator `csr_sddmm`, documented in op.py."""
