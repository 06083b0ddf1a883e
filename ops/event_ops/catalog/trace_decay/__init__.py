"""The operator `trace_decay`, which op.py defines."""
