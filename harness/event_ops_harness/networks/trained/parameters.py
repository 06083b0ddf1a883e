"""The parameters of the network that learns words, of NumPy alone: other libraries have them, too."""

from typing import Any, Final

import numpy as np

from event_ops_harness.networks.trained.data import CHANNELS, CLASSES

LIF: Final[dict[str, Any]] = {
    "tau_m": 20.0, "E_L": 0.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": 0.0, "dt": 1.0
}  # fmt: skip
DECAY: Final = np.float32(np.exp(-LIF["dt"] / LIF["tau_m"]))  # of potentials, in a step
GAMMA, WIDTH = 0.5, 0.5  # of the surrogate, a triangle


def first_weights(neurons: int, seed: int) -> dict[str, np.ndarray]:
    """Return weights, float32, with which a few percent of the neurons spike in a step."""
    rng = np.random.default_rng(seed)
    drawn = {
        "in": rng.normal(0.01, 0.07, (CHANNELS, neurons)),
        "recurrent": rng.normal(0, 0.3 / np.sqrt(neurons), (neurons, neurons)),
        "out": rng.normal(0, 1 / np.sqrt(neurons), (neurons, CLASSES)),
    }
    return {name: x.astype(np.float32) for name, x in drawn.items()}
