"""EventProp: spikes at exact times, and exact gradients of them in weights and delays.

`lif` maps spikes to spikes, `neuron` does so for a model of one's own, and `leaky_integrator` maps spikes to
potentials.
"""

from event_ops.eventprop.models.call import neuron as neuron
from event_ops.eventprop.spikes import Spikes as Spikes
from event_ops.eventprop.spikes import leaky_integrator as leaky_integrator
from event_ops.eventprop.spikes import lif as lif

__all__ = ["Spikes", "leaky_integrator", "lif", "neuron"]
