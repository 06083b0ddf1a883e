"""The operator `stp_step`: see op.py for what it computes; kernels are compiled from its formula."""
