"""The operator `read_slot`: see op.py for what it computes."""
