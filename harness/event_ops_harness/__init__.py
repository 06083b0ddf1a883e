"""Conformance tests, benchmarks and example networks for event_ops."""

__version__ = "0.1.0"
