"""The operator `procedural_matvec`, which op.py defines."""
