"""The operator `csr_rewire`: see op.py for what it computes, reference.py for its definition."""
