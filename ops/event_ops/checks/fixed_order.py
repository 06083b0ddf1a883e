"""The keyword `deterministic`: sums in a fixed order, where atomics would finish in any."""

from __future__ import annotations

from typing import Final

# What a backend lacks whose atomics add to one place in whatever order they arrive.
ONE_ORDER: Final = ("deterministic=True",)
