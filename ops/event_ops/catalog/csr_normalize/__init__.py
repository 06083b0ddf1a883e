"""The operator `csr_normalize`, which op.py defines."""
