"""The operator `csr_matvec`, documented in op.py."""
