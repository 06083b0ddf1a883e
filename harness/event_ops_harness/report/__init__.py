"""One page from the JSON of matrix and benchmarks: `python -m event_ops_harness.report`."""
