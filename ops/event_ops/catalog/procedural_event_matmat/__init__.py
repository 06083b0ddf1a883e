"""The operator `procedural_event_matmat`, which op.py defines."""
