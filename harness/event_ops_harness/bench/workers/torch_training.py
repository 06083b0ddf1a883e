"""The network that learns words in snnTorch and Norse, as `bench training` measures it beside ours.

Each has the layers that its users would take, with a surrogate of its own. Spikes arrive a step late.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import nn

from event_ops_harness.bench.workers.resident import first_and_median
from event_ops_harness.networks.trained.data import CHANNELS, words
from event_ops_harness.networks.trained.parameters import DECAY, GAMMA, first_weights

Scores = Callable[[torch.Tensor], torch.Tensor]  # of spikes (steps, batch, channels): (batch, classes)


def linear(weights: np.ndarray) -> nn.Linear:
    """Return a layer with these weights and no bias."""
    layer = nn.Linear(*weights.shape, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.T))
    return layer


def late(x: torch.Tensor) -> torch.Tensor:
    """Return spikes (steps, ...) a step late."""
    return torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def snntorch(weights: Mapping[str, np.ndarray]) -> tuple[nn.Module, Scores]:
    """Return the layers in a loop over steps; products that need no loop are outside of it."""
    snn = import_module("snntorch")
    slope = import_module("snntorch.surrogate").fast_sigmoid()
    neurons, beta = weights["recurrent"].shape[0], float(DECAY)
    hidden = snn.RLeaky(
        beta, linear_features=neurons, spike_grad=slope, reset_mechanism="zero", reset_delay=False
    )
    hidden.recurrent = linear(weights["recurrent"])
    layers = nn.ModuleDict(
        {
            "in": linear(weights["in"]),
            "hidden": hidden,
            "out": linear(weights["out"]),
            "leaky": snn.Leaky(beta, reset_mechanism="none"),
        }
    )

    def scores(spikes: torch.Tensor) -> torch.Tensor:
        spike, V = layers["hidden"].reset_mem()
        V_out, fired, potentials = layers["leaky"].reset_mem(), [], []
        for now in layers["in"](late(spikes)):
            spike, V = layers["hidden"](now, spike, V)
            fired.append(spike)
        for now in layers["out"](late(torch.stack(fired))):
            _, V_out = layers["leaky"](now, V_out)
            potentials.append(V_out)
        return torch.stack(potentials).mean(0)

    return layers, scores


def norse(weights: Mapping[str, np.ndarray]) -> tuple[nn.Module, Scores]:
    """Return the layers, of which each has its loop; a current that lasts for a step is a jump."""
    library = import_module("norse.torch")
    dt, share = 1e-3, 1 - float(DECAY)
    steady = {"tau_syn_inv": torch.tensor(1 / dt), "tau_mem_inv": torch.tensor(share / dt)}
    scaled = {name: linear(x / np.float32(share)) for name, x in weights.items()}
    hidden = library.LIFRecurrent(
        CHANNELS,
        weights["recurrent"].shape[0],
        p=library.LIFParameters(**steady, method="triangle", alpha=torch.tensor(GAMMA)),
        input_weights=scaled["in"].weight,
        recurrent_weights=scaled["recurrent"].weight,
        autapses=True,
        dt=dt,
    )
    leaky = library.LI(library.LIParameters(**steady), dt=dt)
    layers = nn.ModuleDict({"hidden": hidden, "out": scaled["out"], "leaky": leaky})

    def scores(spikes: torch.Tensor) -> torch.Tensor:
        fired, _ = layers["hidden"](late(spikes))
        potentials, _ = layers["leaky"](layers["out"](late(fired)))
        return potentials.mean(0)

    return layers, scores


LIBRARIES = {"snnTorch": snntorch, "Norse": norse}


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of value and gradient, the peak beyond the bytes before, the loss, the version."""
    neurons, batch = request["neurons"], request["batch"]
    layers, scores = LIBRARIES[request["member"]](first_weights(neurons, 0))
    heard, labels = words(batch, 0)
    spikes = torch.from_numpy(heard.swapaxes(0, 1).copy())
    answers = torch.from_numpy(labels).long()

    def work() -> float:
        layers.zero_grad()
        loss = nn.functional.cross_entropy(scores(spikes), answers)
        loss.backward()
        return loss.item()

    figures, loss = first_and_median(work, request["calls"])
    return figures | {"loss": loss, "version": version(request["member"])}
