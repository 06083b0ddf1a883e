"""A step of a neuron model in pure JAX: the definition."""

from collections.abc import Callable, Sequence
from typing import Any

from event_ops.codegen.function import Traced
from event_ops.kernels.reference.encodings import spike_compact
from event_ops.kernels.reference.noise import numbers_of, streams_of

Step = Callable[..., Sequence[Any]]


def build(*, neuron: Traced, outs: Any, noise: Sequence[str] = (), **_: Any) -> Step:
    """Return the function of arrays, which is that of one neuron for each."""
    step = _with_noise(neuron.of_each, noise, outs[0]) if noise else neuron.of_each
    return with_list(step, spike_compact, outs[neuron.count :], neuron.positional)


def _with_noise(step: Step, noise: Sequence[str], like: Any) -> Step:
    """Return the step of arrays and of seed, step, first and table behind them, which give the noise."""

    def call(*arrays: Any) -> Sequence[Any]:
        *inputs, seed, time, first, table = arrays
        drawn = [
            numbers_of(like.size, seed, time, first, table, distribution, stream).astype(like.dtype)
            for distribution, stream in streams_of(noise)
        ]
        return step(*inputs, *drawn)

    return call


def with_list(step: Step, compact: Callable[..., Step], outs: Sequence[Any], spikes: int) -> Step:
    """Return the step with the list that `compact`, a builder of `spike_compact`, makes of its spikes.

    outs: of the list; empty: there is none. spikes: their place in what the step returns.
    """
    if not outs:
        return step
    listed = compact(outs=outs)

    def call(*arrays: Any) -> Sequence[Any]:
        after = step(*arrays)
        return *after, *listed(after[spikes].astype(bool))

    return call
