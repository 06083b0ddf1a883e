"""The operator `csr_matmat`, which op.py defines."""
