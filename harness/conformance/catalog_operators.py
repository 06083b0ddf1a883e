"""The catalog's operators with their oracles: `pytest --operators catalog_operators`."""

from dataclasses import replace

from oracles import oracle

from event_ops.discover import operators

OPERATORS = tuple(replace(operator, oracle=oracle(operator.name)) for operator in operators())
