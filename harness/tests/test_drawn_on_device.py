"""Synapses that a GPU draws: on the emulated one each target has its number of sources, and never itself."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from event_ops_harness.networks.hpc_benchmark import on_device
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark

MODEL, PARTS = HpcBenchmark(scale=0.006), 2


def counts_of(A):
    """Return (N, N): how many synapses each neuron has onto each."""
    n, width = MODEL.neurons, -(-MODEL.neurons // PARTS)
    found, entries, indptr = np.zeros((n, n), int), np.asarray(A.entries), np.asarray(A.indptr)
    for part, ends in enumerate(indptr):
        sources = np.repeat(np.arange(n), np.diff(ends))
        np.add.at(found, (sources, part * width + entries[ends[0] : ends[-1]]), 1)
    return found


def test_each_target_has_its_sources_whatever_counts_them(monkeypatch, gpu):
    monkeypatch.setattr(gpu, "backends", ("numba_cuda",))
    monkeypatch.setattr(on_device, "BLOCKS", 2)
    found = counts_of(on_device.drawn_on_device(MODEL, 3, PARTS))
    assert not np.diag(found).any()
    np.testing.assert_array_equal(found[: MODEL.excitatory].sum(axis=0), MODEL.excitatory)
    np.testing.assert_array_equal(found[MODEL.excitatory :].sum(axis=0), MODEL.inhibitory)
    # One in e^-1 pairs has no synapse, since sources are drawn with replacement.
    assert 0.3 < (found[: MODEL.excitatory, : MODEL.excitatory] == 0).mean() < 0.45
    monkeypatch.setattr(on_device, "MAX_SYNAPSES", 1000)
    with jax.enable_x64(True):
        wide = on_device.drawn_on_device(MODEL, 3, PARTS)
    assert wide.indptr.dtype == np.int64
    np.testing.assert_array_equal(counts_of(wide), found)
    with pytest.raises(OverflowError, match="4624 synapses; expected at most 1000"):
        on_device.drawn_on_device(MODEL, 3, PARTS)
