"""The operator `lif_cond_alpha_step`: see op.py for what it computes, reference.py for its definition."""
