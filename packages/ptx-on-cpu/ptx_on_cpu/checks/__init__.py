"""Check a running kernel for mistakes that do not show in its results."""
