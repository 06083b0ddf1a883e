"""Networks written for brainstate and BrainPy, as their users write them: nothing here names the catalog.

Sizes and parameters are those of the papers, in the libraries' own units; `steps` of 0.1 ms are one call.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import brainevent
import brainpy.state
import brainstate
import braintools
import brainunit as u
import jax
import jax.numpy as jnp
import numpy as np

Step = Callable[[Any], Any]  # a time -> the spikes of the step
STEP: Final = 0.1 * u.ms
CURRENT: Final = (brainpy.state.CUBA.desc(scale=u.volt),) * 2
CONDUCTANCE: Final = (brainpy.state.COBA.desc(E=0.0 * u.mV), brainpy.state.COBA.desc(E=-80.0 * u.mV))


def lif(neurons: int, rest: float, refractory: float) -> Any:
    """Return neurons with this potential at rest, in mV, and refractory period, in ms."""
    return brainpy.state.LIFRef(
        neurons,
        V_rest=rest * u.mV,
        V_th=-50.0 * u.mV,
        V_reset=-60.0 * u.mV,
        tau=20.0 * u.ms,
        tau_ref=refractory * u.ms,
        V_initializer=braintools.init.Normal(-55.0 * u.mV, 2.0 * u.mV),
    )


class Balanced(brainstate.nn.Module):
    """Four excitatory neurons for each inhibitory one, with 80 synapses each (Brette et al. 2007)."""

    def __init__(self, neurons: int, rest: float, outs: tuple[Any, Any], weights: tuple[Any, Any]) -> None:
        super().__init__()
        self.excitatory = neurons * 4 // 5
        self.neurons = lif(neurons, rest, 5.0)
        self.projections = [
            brainpy.state.AlignPostProj(
                comm=brainstate.nn.EventFixedProb(size, neurons, 80 / neurons, weight, seed=seed),
                syn=brainpy.state.Expon.desc(neurons, tau=tau * u.ms),
                out=out,
                post=self.neurons,
            )
            for seed, (size, weight, tau, out) in enumerate(
                zip((self.excitatory, neurons - self.excitatory), weights, (5.0, 10.0), outs, strict=True)
            )
        ]

    def update(self, t: Any) -> Any:
        """Simulate a step."""
        with brainstate.environ.context(t=t):
            spikes = self.neurons.get_spike() != 0.0
            for project, sent in zip(
                self.projections, (spikes[: self.excitatory], spikes[self.excitatory :]), strict=True
            ):
                project(sent)
            self.neurons(20.0 * u.mA)
            return self.neurons.get_spike()


class Decision(brainstate.nn.Module):
    """Two populations that compete through dense weights, and the inhibition that they share (Wang 2002)."""

    def __init__(self, neurons: int) -> None:
        super().__init__()
        of_group = np.digitize(np.arange(neurons), neurons * np.array([0.12, 0.24, 0.8]))  # A, B, others, I
        # w+ = 1.7 of the paper, and w- = 1 - f (w+ - 1) / (1 - f), with f = 0.15.
        strong, weak, inhibitory = 1.7, 0.87, -9.0
        of_pair = np.ones((4, 4))
        of_pair[:2, :2] = [[strong, weak], [weak, strong]]
        of_pair[2, :2], of_pair[3] = weak, inhibitory
        weights = of_pair[of_group][:, of_group] * 8 / neurons
        self.neurons = lif(neurons, -52.0, 2.0)
        self.project = brainpy.state.AlignPostProj(
            comm=brainstate.nn.EventLinear(neurons, neurons, jnp.asarray(weights, jnp.float32) * u.mS),
            syn=brainpy.state.Expon.desc(neurons, tau=5.0 * u.ms),
            out=brainpy.state.CUBA.desc(scale=u.volt),
            post=self.neurons,
        )
        self.stimulus = jnp.where(of_group == 0, 22.0, np.where(of_group == 1, 21.0, 20.0)) * u.mA

    def update(self, t: Any) -> Any:
        """Simulate a step."""
        with brainstate.environ.context(t=t):
            self.project(self.neurons.get_spike() != 0.0)
            self.neurons(self.stimulus)
            return self.neurons.get_spike()


class Plastic(brainstate.nn.Module):
    """Neurons that 4000 trains of events reach through synapses with pair-based STDP (Song et al. 2000)."""

    def __init__(self, neurons: int) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        indices = jnp.asarray(rng.integers(0, neurons, (neurons, 80), dtype=np.int32).ravel())
        indptr = jnp.arange(neurons + 1, dtype=jnp.int32) * 80
        self.matrix = brainevent.CSR((jnp.full(80 * neurons, 0.5), indices, indptr), shape=(neurons, neurons))
        by_column = brainevent.csr_to_csc_index(indptr, indices, shape=(neurons, neurons))
        self.columns, self.rows, self.places = by_column
        self.weights = brainstate.ShortTermState(self.matrix.data)
        self.pre = brainstate.ShortTermState(jnp.zeros(neurons))
        self.post = brainstate.ShortTermState(jnp.zeros(neurons))
        self.V = brainstate.ShortTermState(jnp.zeros(neurons))
        self.events = jnp.asarray(rng.random((100, neurons)) < 0.0015)  # 15 Hz

    def update(self, t: Any) -> Any:
        """Simulate a step."""
        sent = self.events[jnp.asarray(u.get_mantissa(t / STEP), jnp.int32) % 100]
        matrix = self.matrix.with_data(self.weights.value)
        V = self.V.value * 0.99 + brainevent.BinaryArray(sent) @ matrix
        spikes = V > 5.0
        self.V.value = jnp.where(spikes, 0.0, V)
        # exp(-0.1 / 20): traces of 20 ms. Depression is 1.05 times potentiation, as in the paper.
        self.pre.value = self.pre.value * 0.995 + sent
        self.post.value = self.post.value * 0.995 + spikes
        structure, shape = (self.matrix.indices, self.matrix.indptr), self.matrix.shape
        weights = brainevent.update_csr_on_binary_pre(
            self.weights.value, *structure, sent, self.post.value * -0.0105, 0.0, 1.0, shape=shape
        )
        columns = self.rows, self.columns, self.places
        self.weights.value = brainevent.update_csr_on_binary_post(
            weights, *columns, self.pre.value * 0.01, spikes, 0.0, 1.0, shape=shape
        )
        return spikes


NETWORKS: Final[Mapping[str, Callable[[int], Any]]] = {
    "CUBA": functools.partial(Balanced, rest=-49.0, outs=CURRENT, weights=(1.62 * u.mS, -9.0 * u.mS)),
    # In units of the leak, 10 nS: the paper's weights are 6 and 67 nS.
    "COBA": functools.partial(Balanced, rest=-60.0, outs=CONDUCTANCE, weights=(0.6 * u.mS, 6.7 * u.mS)),
    "decision": Decision,
    "STDP": Plastic,
}


def steps_of(name: str, neurons: int, steps: int) -> Callable[[], Any]:
    """Return a function that simulates `steps` steps from one state, compiled now, and counts spikes."""
    brainstate.random.seed(0)
    network = NETWORKS[name](neurons)
    brainstate.nn.init_all_states(network)

    def simulate() -> Any:
        with brainstate.environ.context(dt=STEP):
            times = jnp.arange(steps) * STEP
            return brainstate.transform.for_loop(lambda t: network.update(t).sum(), times)

    stateful = brainstate.transform.StatefulFunction(simulate)
    begin = [state.value for state in stateful.get_states()]
    # Compiled ahead: BrainEvent clears JAX's caches when the default of a primitive changes.
    compiled = jax.jit(stateful.jaxpr_call).lower(begin).compile()
    return lambda: u.get_mantissa(jax.block_until_ready(compiled(begin)[1])).sum()
