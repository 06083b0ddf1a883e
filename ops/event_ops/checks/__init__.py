"""Checks of arguments: of shapes and dtypes when a call is traced, of values where they are known."""
