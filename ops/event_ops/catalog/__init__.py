"""The operators: one folder each, found by `event_ops.discover`."""
