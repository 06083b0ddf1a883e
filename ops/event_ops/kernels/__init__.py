"""Pieces that several operators are composed of, by backend."""
