"""The operator `csr_gap_current`, which op.py defines."""
