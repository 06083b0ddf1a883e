"""The operator `csr_todense`, which op.py defines."""
