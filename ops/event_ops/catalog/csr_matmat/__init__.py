"""The operator `csr_matmat`, documented in op.py."""
