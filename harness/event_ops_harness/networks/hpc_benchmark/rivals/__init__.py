"""The network with STDP as rivals: on our operators, and in NEST; the protocol is in ``shared/rivals.py``.

Each is asked for: model, the fields of its parameters; steps, seed, threads. It goes on where it stopped.
With `record`, a path, NEST writes there the steps and ids of the spikes at the end of its input, and the
weights from the first `sources` neurons.
"""

from pathlib import Path
from typing import Any, Final

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.shared.rivals import Rival

OURS: Final = Rival("event-ops", ("-m", f"{__name__}.event_ops_worker"), ours=True)
NEST: Final = Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),))


def request_of(model: HpcBenchmark, seed: int, seconds: float, threads: int) -> dict[str, Any]:
    """Return what a worker is told: numbers that follow from the model, too."""
    names = ("excitatory", "inhibitory", "weight", "rate_outside")
    return {
        "model": vars(model) | {name: getattr(model, name) for name in names},
        "seed": seed,
        "steps": model.steps(seconds),
        "threads": threads,
    }
