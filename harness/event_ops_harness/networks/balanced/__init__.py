"""Shared parts of the balanced networks of Vogels and Abbott (2005), benchmarks of Brette et al. (2007)."""
