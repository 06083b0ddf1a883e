"""The operator `ell_matvec`, which op.py defines."""
