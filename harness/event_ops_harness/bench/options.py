"""Read the request of a run of a suite: options, which `__main__.py` adds, and selected tests."""

from collections.abc import Sequence
from typing import Any

import pytest


def option(config: pytest.Config, name: str, usual: Any) -> Any:
    """Return the option, or its default where nobody gave it, or pytest was started without the options."""
    value = config.getoption(name, None)
    return usual if value is None else value


def sizes(config: pytest.Config, name: str, usual: Sequence[float]) -> list[float]:
    """Return the numbers of an option, each once, in order."""
    return sorted(set(option(config, name, usual)))


def counts(config: pytest.Config, name: str, usual: Sequence[int]) -> list[int]:
    """Return the whole numbers of an option, each once, in order. Raises pytest.UsageError for fractions."""
    numbers = sizes(config, name, usual)
    if any(x != int(x) for x in numbers):
        raise pytest.UsageError(f"--{name} {','.join(f'{x:g}' for x in numbers)}: expected whole numbers")
    return [int(x) for x in numbers]


def selected(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the members of this test's group that were selected, as by -k: only they are started."""
    test = request.node
    return tuple(
        str(item.callspec.params["member"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.function is test.function
        and item.callspec.params | {"member": None} == test.callspec.params | {"member": None}
    )
