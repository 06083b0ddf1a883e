"""The operator `csr_matvec`, which op.py defines."""
