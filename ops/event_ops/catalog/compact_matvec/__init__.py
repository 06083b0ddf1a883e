"""The operator `compact_matvec`, documented in op.py."""
