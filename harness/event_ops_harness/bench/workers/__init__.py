"""Modules that benchmarks start in fresh processes; each prints its answer as one line of JSON."""
