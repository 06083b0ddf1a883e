"""The operator `csr_sddmm`, which op.py defines."""
