"""The operator `procedural_matmat`, which op.py defines."""
