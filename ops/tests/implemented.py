"""(operator, backend) for every backend that runs on this machine's CPU, as pytest parameters."""

from __future__ import annotations

from typing import Any

import pytest

from event_ops.discover import operators


def implementations() -> list[Any]:
    """Those of the whole catalog, with readable ids."""
    return [
        pytest.param(operator, backend, id=f"{operator.name}-{backend}")
        for operator in operators()
        for backend in operator.kernel.available_backends("cpu")
    ]


def backends(name: str) -> pytest.MarkDecorator:
    """A test for each of one operator's."""
    found = [p.values[1] for p in implementations() if p.values[0].name == name]
    return pytest.mark.parametrize("backend", found)
