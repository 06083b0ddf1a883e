"""What runs on this machine's CPU, as pytest parameters."""

import pytest

from event_ops.discover import operators

_KERNELS = {operator.name: operator.kernel for operator in operators()}


def backends(name: str) -> pytest.MarkDecorator:
    """A test for each backend of an operator."""
    return pytest.mark.parametrize("backend", _KERNELS[name].available_backends("cpu"))
