"""A step of a neuron model in pure JAX: the definition."""

from __future__ import annotations

from typing import Any

from event_ops.catalog.spike_compact import reference as spike_compact
from event_ops.neurons.lists import Step, with_list
from event_ops.scalar_functions.function import Traced


def build(*, neuron: Traced, outs: Any, **_: Any) -> Step:
    """Return the function of arrays, which is that of one neuron for each."""
    return with_list(neuron.of_each, spike_compact.build, outs[neuron.count :])
