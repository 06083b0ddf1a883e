"""The list of the spikes behind a step, for backends whose step does not make it by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[..., Sequence[Any]]


def with_list(step: Step, compact: Callable[..., Step], outs: Sequence[Any], spikes: int) -> Step:
    """Return the step with what `compact`, a builder of `spike_compact`, makes of its spikes behind the rest.

    outs: of the list; empty: there is none. spikes: their place in what the step returns.
    """
    if not outs:
        return step
    listed = compact(outs=outs)

    def call(*arrays: Any) -> Sequence[Any]:
        after = step(*arrays)
        return *after, *listed(after[spikes].astype(bool))

    return call
