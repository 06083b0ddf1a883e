"""The operator `pack_events`, which op.py defines."""
