"""The operator `csr_rewire`, which op.py defines."""
