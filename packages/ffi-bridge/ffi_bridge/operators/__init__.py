"""Operators with many backends: one JAX primitive for each, its rules, and the choice of a backend."""
