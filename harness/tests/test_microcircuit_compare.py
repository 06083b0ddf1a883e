"""The comparison with NEST: what is kept of NEST's runs is used again."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.bench.microcircuit_statistics import make_parser, theirs
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.shared.rivals import WorkerError

MODEL = Microcircuit(N_scaling=0.002, K_scaling=0.01)


def test_kept_spikes_are_read_and_others_simulated(tmp_path):
    # A Python that has no NEST: whatever is not kept fails.
    missing = tmp_path / "python"
    missing.write_text("#!/bin/sh\nexit 3\n")
    missing.chmod(0o755)
    words = ["--scale", "0.002", "--keep", str(tmp_path), "--rivals-python", str(missing)]
    options = make_parser().parse_args(words)
    np.savez(tmp_path / "nest-0.002-poisson-40-7.npz", times=[3, 9], ids=[1, 0])
    found = theirs(MODEL, 7, 40, options)
    assert found.times.tolist() == [3, 9] and found.ids.tolist() == [1, 0]
    assert (found.first, found.end) == (0, 40)
    for seed, steps in ((8, 40), (7, 41)):
        with pytest.raises(WorkerError, match="exit code 3"):
            theirs(MODEL, seed, steps, options)
