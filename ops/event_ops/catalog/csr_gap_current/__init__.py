"""The operator `csr_gap_current`, documented in op.py."""
