"""`Network`: its parts, its first state, and a run of many steps as one operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import as_array, is_known
from event_ops.checks.keywords import known_integer
from event_ops.checks.procedural import seed_word
from event_ops.network.checks import check_inputs, check_named, check_parts, check_state, check_steps
from event_ops.network.functions import Functions
from event_ops.network.gradient.call import Run
from event_ops.network.gradient.choice import ON_GPU, has_surrogates, lacks_gradient, runs_natively
from event_ops.network.gradient.primitive import differentiable_run
from event_ops.network.inputs import Input
from event_ops.network.layout import ONLY, Layout, recorded_dtype
from event_ops.network.learning import first_synapses
from event_ops.network.parts import Population, Record
from event_ops.network.plan import lacks
from event_ops.network.projections import Projection
from event_ops.network.states import Recording, State
from event_ops.sparse.pytree import register
from ffi_bridge import XLACustomKernel

# Platform -> the backend of a native run there, what `explain` says of it, and what it needs.
_NATIVE: Final = {
    "cpu": ("numba_cpu", "one native call", "Numba"),
    "gpu": ("numba_cuda", "one persistent kernel", "numba-cuda"),
}
_BACKENDS: Final = tuple(backend for backend, _, _ in _NATIVE.values())


@dataclass(frozen=True, eq=False, init=False)
class Network:
    """`state, recording = network.run(state, steps)`: a spiking network, for many steps in one call.

    A step has the order of NEST's, with t the number of the step:

    1. what arrives in variables of the models is summed up: inputs, then spikes of step t - delay;
    2. all neurons integrate, spike and reset, each population by its model;
    3. what arrives in states is added to them: inputs, then spikes of step t - delay;
    4. spikes are recorded, and behind every so many steps the states.

    Inputs and projections act in the order in which they are given, and a projection adds its spikes in the
    order of `csr_event_arrivals`, whose history has as many slots as the projection; so sums have one order.

    The definition is a `jax.lax.scan` over operators: the model, `poisson_input`, `csr_event_arrivals` or
    `compact_event_arrivals`, and the rules of plasticity. On the CPU the scan is one native call, which gives
    the bits that the operators have on one thread, on however many threads it runs. On a GPU it is one
    kernel, whose threads stay for all steps; what arrives in a step is added up in any order there, so that
    sums are rounded otherwise. Elsewhere, and where `explain` says so, it is the scan. A dense matrix is the
    exception to the same bits: its sums are rounded otherwise. A network is a pytree, as are its parts but
    for the record, and may be an argument of a jitted function; what is static is compiled in. Arrays that
    the function closes over are constants to XLA, which may round what it computes of them, such as a decay
    of `tau_m`, otherwise by a unit in the last place; those of an argument have the bits of a run outside.

    Works under jit, vmap and grad, with derivatives in weights, parameters that are arrays, values of inputs
    and states. They pass through the spikes of a population with a `surrogate`, which the scan delivers as
    numbers, and through no others; the histories at both ends of a run, and rules of plasticity, have none.
    With surrogates a run on the CPU is one native call forwards and one backwards, of a whole batch under
    vmap, whose samples are shared out over the threads; derivatives in what samples share are summed there.
    Spikes are kept as bits and states after each sqrt(steps), rounded up; between, they are computed again.

    Args:
        neurons: a `Population`, or name -> population.
        projections: in the order in which they add up.
        inputs: `PoissonInput`, `TimedInput` or `SpikeInput`, in the same way.
        record: what runs record; default: they count spikes.

    Raises:
        TypeError: a part of another kind.
        ValueError: an unknown name of a population or receptor, a matrix that does not fit its populations,
            or a variable that takes spikes without delay.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import CSR, lif_expsyn_step
        >>> from event_ops.network import Network, Population, Projection, Record
        >>> lif = {"tau_m": 10.0, "tau_syn": 0.5, "E_L": -65.0, "V_th": -50.0, "V_reset": -65.0, "t_ref": 2.0}
        >>> A = CSR.from_dense(jnp.array([[0.0, 1000.0], [0.0, 0.0]]))
        >>> network = Network(
        ...     Population(2, lif_expsyn_step, R_m=0.04, I_e=jnp.array([400.0, 0.0]), dt=0.1, **lif),
        ...     [Projection(A, "I_syn", delay=15)],
        ...     record=Record(spikes=100),
        ... )
        >>> state = network.state({"V_m": -65.0, "refractory": 0.0, "I_syn": 0.0})
        >>> state, recording = network.run(state, 1000)
        >>> recording.spikes[1].tolist()
        [0, 0, 0]
    """

    populations: tuple[Population, ...]
    names: tuple[str, ...]
    projections: tuple[Projection, ...]
    inputs: tuple[Input, ...]
    record: Record

    def __init__(
        self,
        neurons: Population | Mapping[str, Population],
        projections: Sequence[Projection] = (),
        inputs: Sequence[Input] = (),
        record: Record | None = None,
    ) -> None:
        several = dict(neurons) if isinstance(neurons, Mapping) else {ONLY: neurons}
        chosen = Record() if record is None else record
        check_parts(several, projections, inputs, chosen)
        vars(self).update(populations=tuple(several.values()), names=tuple(several))
        vars(self).update(projections=tuple(projections), inputs=tuple(inputs), record=chosen)

    @property
    def layout(self) -> Layout:
        """The populations by name, with their places in lists of all neurons, and additions to receptors."""
        populations = dict(zip(self.names, self.populations, strict=True))
        return Layout.of(populations, self.inputs, self.projections)

    def state(self, neurons: Mapping[str, Any], *, seed: Any = 0) -> State:
        """Return the state at step 0, in which no spike is under way.

        Args:
            neurons: name -> first value of each state of the model, a number or (size,), float32 if it is a
                Python number; of several populations, name -> such a dictionary.
            seed: 0-d or a Python int in [0, 2**32), of Poisson inputs and noise; may be traced.

        Raises:
            TypeError, ValueError: what `run` says of states.
        """
        layout = self.layout
        check_named(neurons, layout)
        given = layout.named(neurons)
        states = {
            name: {key: _each(x, population.size, key) for key, x in given.get(name, {}).items()}
            for name, population in layout.populations.items()
        }
        empty = {
            name: jnp.zeros((layout.slots[name], -(-population.size // 32)), jnp.uint32)
            for name, population in layout.populations.items()
        }
        word: Any = jnp.array(seed_word(seed), copy=True)
        synapses = first_synapses(self.projections)
        state = State(layout.nested(states), layout.nested(empty), jnp.zeros((), jnp.int32), word, synapses)
        check_state(state, layout, self.record)
        return state

    def run(
        self, state: State, steps: int, *, inputs: Mapping[str, Any] | None = None, backend: str | None = None
    ) -> tuple[State, Recording]:
        """Return the state after `steps` steps, and their record.

        Runs go on where the last one ended: `run(100)` gives the same bits as `run(50)` twice.

        Args:
            state: of `state`, or of a run; under `jax.jit(..., donate_argnums=...)` it is updated in place.
            steps: >= 1, static; a multiple of the record's `every`, where it has states.
            inputs: name -> values of each `TimedInput` in these steps, (ceil(steps / every), size) or
                (ceil(steps / every), 1), in the dtype of the receptor.
            backend: "numba_cpu", the native call, "numba_cuda", the kernel of a GPU, or "reference", the
                scan; default: choose, as `explain` says.

        Raises:
            TypeError: a state or values of a dtype that does not fit, or names that the model does not take.
            ValueError: a shape, a receptor, or the name of an input that does not fit, or a native backend
                where it cannot be.
        """
        count = check_steps(known_integer("steps", steps), self.record)
        check_state(state, self.layout, self.record, count)
        if not is_known(state.step):
            state = state._replace(step=jnp.maximum(state.step, 0))
        functions = Functions.of(self, state)
        is_smooth = has_surrogates(self, state, functions)
        if backend in _BACKENDS and (reason := self._reason(state, backend, is_smooth)):
            raise ValueError(f"the network has no native call, since {reason}; leave backend out for a scan")
        values = check_inputs(self.inputs, inputs or {}, self.layout, state, count)
        leaves, tree = jax.tree.flatten((self, state, values))
        outs = self._outs(state, count)
        if is_smooth and runs_natively(self, state, backend):
            found = differentiable_run(Run.of(self, state, values, count, outs, functions), leaves)
        else:
            how = "reference" if is_smooth else backend
            static = {"tree": tree, "steps": count, "functions": functions}
            found = kernel(*leaves, outs=outs, backend=how, **static)
        neurons, history, synapses, recorded = found
        step = state.step + np.int32(count)
        return State(neurons, history, step, state.seed, synapses), Recording(*recorded)

    def explain(self, state: State, *, platform: str | None = None) -> str:
        """Return how a run from a state goes: as one native call or kernel, or as a scan, and why.

        platform: "cpu" or "gpu"; default: that of JAX's first device.
        """
        check_state(state, self.layout, self.record)
        name = platform or jax.default_backend()
        backends = kernel.available_backends(name)
        if name not in _NATIVE:
            return f"a scan of operators, since there is no native run on {name}"
        backend, said, package = _NATIVE[name]
        is_smooth = has_surrogates(self, state, Functions.of(self, state))
        if backend in backends:
            reason = self._reason(state, backend, is_smooth)
        else:
            reason = f"{package} is not installed"
        if reason:
            return f"a scan of operators, since {reason}"
        return f"{said}, and one for its gradient" if is_smooth else said

    def _reason(self, state: State, backend: str, is_smooth: bool) -> str:
        """Return why a run is not one native call, as a clause, or ""."""
        if is_smooth:
            return lacks_gradient(self, state) if backend == "numba_cpu" else ON_GPU
        return lacks(self, state, on_gpu=backend == "numba_cuda")

    def _outs(self, state: State, steps: int) -> Any:
        """Return shapes and dtypes of the results of a run."""
        layout, rows = self.layout, steps // self.record.every
        changed: Any = state.neurons, state.history, state.synapses
        neurons, history, synapses = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), changed)
        states = {
            name: {
                key: jax.ShapeDtypeStruct((rows, ids.size), recorded_dtype(layout.named(neurons)[name], key))
                for key, ids in chosen.items()
            }
            for name, chosen in layout.named(self.record.states).items()
        }
        spikes, count = (jax.ShapeDtypeStruct(x, np.int32) for x in ((self.record.spikes,), ()))
        return neurons, history, synapses, (spikes, spikes, count, layout.nested(states))


register(Network, ("populations", "projections", "inputs"), ("names", "record"), "event_ops.network.Network")


def _each(x: Any, size: int, name: str) -> jax.Array:
    """Return a first value for each neuron."""
    is_plain = type(x) in (bool, int, float)  # not np.float64, which has a dtype, and is a float, too
    array = jnp.asarray(x, jnp.float32) if is_plain else as_array(x, name)
    # A copy: a run may take the memory of a state, but not of what the caller keeps, nor of one array twice.
    return jnp.broadcast_to(array, (size,)) if array.ndim == 0 else jnp.array(array, copy=True)


kernel = XLACustomKernel("network_run")
kernel.def_tags("network")
kernel.def_reference("event_ops.network.reference:build")
kernel.def_numba_kernel("event_ops.network.numba_cpu:build")
kernel.def_numba_cuda_kernel("event_ops.network.numba_cuda:build")
