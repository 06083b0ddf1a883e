"""Benchmarks beside rivals: `python -m event_ops_harness.bench.call`, `.ops`, `.cuba`."""
