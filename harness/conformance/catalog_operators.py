"""The catalog's operators: `pytest --operators catalog_operators`."""

from event_ops.discover import operators

OPERATORS = operators()
