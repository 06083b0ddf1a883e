"""Benchmarks, one file each: tests of pytest-benchmark, which `nox -s bench -- NAME` runs."""
