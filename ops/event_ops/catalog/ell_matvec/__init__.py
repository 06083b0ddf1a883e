"""The operator `ell_matvec`, documented in op.py."""
