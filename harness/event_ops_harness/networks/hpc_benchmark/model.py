"""Parameters of the network with STDP.

    tau_m   dV/dt   = -V + (tau_m / C_m) * I              (held while refractory)
    tau_syn dI/dt   = -I + tau_syn * r
    tau_syn dr/dt   = -r,    r += weight * e / tau_syn    at each spike that arrives: alpha-shaped currents

    w -= lam * alpha * w * x_post   at each spike of the presynaptic neuron
    w += lam * w ** mu * x_pre      delay after each spike of the postsynaptic neuron

x_pre is a trace of presynaptic spikes with tau_plus, x_post one of postsynaptic spikes with tau_minus, that
have travelled for the delay. Only synapses between excitatory neurons learn.

Source: Morrison et al. 2007, Neural Comput. 19:1437-1467, in the form of NEST's example ``hpc_benchmark``,
from which the numbers are; scale=1 is its network of 11,250 neurons.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.special


@dataclass(frozen=True)
class HpcBenchmark:
    """Hold the parameters: times in ms, potentials in mV from rest, weights and currents in pA, C_m in pF."""

    scale: float = 1.0  # of neurons and of synapses onto each
    C_m: float = 250.0  # pF
    tau_m: float = 10.0  # ms
    tau_syn: float = 0.32582722403722841  # ms: currents then peak 0.33 ms after a spike, potentials 1.7 ms
    t_ref: float = 0.5  # ms
    V_th: float = 20.0  # mV
    V_reset: float = 0.0  # mV
    V_mean: float = 5.7  # mV; the first potentials are normal
    V_sd: float = 7.2  # mV
    delay: float = 1.5  # ms, of all synapses
    psp: float = 0.14  # mV, the peak of an excitatory potential
    g: float = -5.0  # inhibitory weights over excitatory ones
    eta: float = 1.685  # rate of the input from outside over that at which V reaches V_th on average
    lam: float = 0.1
    alpha: float = 0.0513
    mu: float = 0.4
    tau_plus: float = 15.0  # ms
    tau_minus: float = 30.0  # ms
    dt: float = 0.1  # ms

    @property
    def excitatory(self) -> int:
        """The number of excitatory neurons, the first ones, and of excitatory synapses onto each neuron."""
        return round(9000 * self.scale)

    @property
    def inhibitory(self) -> int:
        """The number of inhibitory neurons, and of inhibitory synapses onto each neuron."""
        return round(2250 * self.scale)

    @property
    def neurons(self) -> int:
        return self.excitatory + self.inhibitory

    @property
    def weight(self) -> float:
        """The excitatory weight in pA whose potential peaks at psp: the first one of synapses that learn."""
        a, b = self.tau_m / self.tau_syn, 1 / self.tau_syn - 1 / self.tau_m
        # Where the derivative of the potential is 0: by Lambert's W, as in NEST's example.
        rise = (-float(scipy.special.lambertw(-math.exp(-1 / a) / a, -1).real) - 1 / a) / b  # ms to the peak
        decayed = math.exp(-rise / self.tau_m) - math.exp(-rise / self.tau_syn)
        peak = (decayed / b - rise * math.exp(-rise / self.tau_syn)) * math.e / (self.tau_syn * self.C_m * b)
        return self.psp / peak

    @property
    def rate_outside(self) -> float:
        """The rate in Hz at which excitatory spikes reach each neuron from outside."""
        charge = self.weight * math.e * self.tau_syn  # of one spike, in fC
        return 1e3 * self.eta * self.V_th * self.C_m / (self.tau_m * charge)

    @property
    def delay_steps(self) -> int:
        return round(self.delay / self.dt)

    def steps(self, seconds: float) -> int:
        """Return the number of time steps in `seconds` of model time."""
        return max(1, round(seconds * 1000.0 / self.dt))

    def propagator(self) -> np.ndarray:
        """Return exp(A * dt) for (V, I, r), in float64: the propagator of a step without spikes."""
        s, m = self.tau_syn, self.tau_m
        decay_s, decay_m = math.exp(-self.dt / s), math.exp(-self.dt / m)
        b = 1 / s - 1 / m
        from_I = (decay_m - decay_s) / (b * self.C_m)
        from_r = (decay_m - decay_s * (1 + b * self.dt)) / (b * b * self.C_m)
        return np.array([[decay_m, from_I, from_r], [0, decay_s, self.dt * decay_s], [0, 0, decay_s]])


class Wires(NamedTuple):
    """Hold synapses in the order of their sources, and where each is in that of their targets."""

    targets: np.ndarray  # int32 (synapses,), by source
    indptr: np.ndarray  # int32 (N + 1,): where the synapses of each source begin
    sources: np.ndarray  # int32 (synapses,), by target
    indptr_in: np.ndarray  # int32 (N + 1,): where the synapses of each target begin
    permutation: np.ndarray  # int32 (synapses,): where in the first order each synapse of the second is


def connect(neurons: int, sources: range, targets: range, inputs: int, rng: np.random.Generator) -> Wires:
    """Draw `inputs` sources for each target, never the target; the matrix has all neurons on both sides."""
    self_position = np.array([sources.index(j) if j in sources else len(sources) for j in targets])[:, None]
    others = len(sources) - (self_position < len(sources))
    drawn = rng.integers(others, size=(len(targets), inputs), dtype=np.uint16)
    # Places from the target's own on move up by one, which leaves it out.
    drawn += drawn >= self_position
    drawn.sort(axis=1)
    by_target = drawn.ravel().astype(np.int32) + np.int32(sources.start)
    first = np.zeros(neurons + 1, np.int32)
    # Each target has as many synapses; neurons in front of the targets and behind them have none.
    first[targets.start + 1 :] = inputs * np.minimum(np.arange(1, neurons - targets.start + 1), len(targets))
    places = np.arange(by_target.size, dtype=np.int32)
    shape = neurons, neurons
    # Places as the data: after the conversion they say where each synapse was.
    by_source: Any = scipy.sparse.csc_array((places, by_target, first), shape=shape).tocsr()
    permutation = np.empty_like(places)
    permutation[by_source.data] = places
    return Wires(by_source.indices, by_source.indptr, by_target, first, permutation)


def drawn_network(model: HpcBenchmark, seed: int) -> tuple[Wires, Wires, Wires]:
    """Return the synapses between excitatory neurons, from them to inhibitory ones, and from these."""
    rng, n = np.random.default_rng(seed), model.neurons
    ex, inh, all_neurons = range(model.excitatory), range(model.excitatory, n), range(n)
    counts = model.excitatory, model.excitatory, model.inhibitory
    ends = (ex, ex), (ex, inh), (inh, all_neurons)
    return tuple(connect(n, *pair, count, rng) for pair, count in zip(ends, counts, strict=True))  # type: ignore
