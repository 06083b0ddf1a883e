"""Measure beside rivals: one module each with a `main`; `nox -s bench -- NAME` runs them."""
