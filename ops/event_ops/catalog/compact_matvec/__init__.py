"""The operator `compact_matvec`, which op.py defines."""
