"""The operator `csr_scale_rows`, which op.py defines."""
