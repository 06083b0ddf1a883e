"""Sparse matrices and events as objects: containers, conversion, plans, sharding."""
