"""Derivative and batching rules, by what they are rules for."""
