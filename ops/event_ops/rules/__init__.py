"""Derivative and batching rules: of operators that are linear in an input, and of products with matrices."""
