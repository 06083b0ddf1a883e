"""Modules that benchmarks start in fresh processes; `measure` answers a request."""
