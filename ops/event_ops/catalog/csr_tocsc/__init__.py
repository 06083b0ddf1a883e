"""The operator `csr_tocsc`, which op.py defines."""
