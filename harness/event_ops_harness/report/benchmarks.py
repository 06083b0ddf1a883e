"""Name the benchmarks that the page knows, in its order: titles, leads, commands of their files."""

from collections.abc import Mapping
from typing import Final

MATRIX: Final = "matrix"
# Title and lead; a benchmark that is not here has its name as the title.
TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "catalog": (
        "Operators beside their rivals",
        "Each operator on its default backend, beside libraries that do the same and its reference in JAX.",
    ),
    "call": (
        "What one call costs",
        "A kernel that adds eight floats, behind every way into JAX, beside XLA's own addition.",
    ),
    "forms": (
        "Forms of a kernel",
        "Shapes that follow, numbers, universal functions and returned arrays, beside the plain kernel.",
    ),
    "sampling": (
        "A log-density and its gradient",
        "Written in Numba: an evaluation, and 100 draws of NUTS by BlackJAX, beside callbacks and nutpie.",
    ),
    "plasticity": (
        "A plasticity rule",
        "Pair-based STDP as a function of one synapse, beside the operators by hand; decay at visits.",
    ),
    "neurons": (
        "A neuron model",
        "LIF, Izhikevich and Hodgkin-Huxley neurons as functions of one, beside operators and JAX.",
    ),
    "derivatives": (
        "Derivatives of Numba kernels",
        "Kernels of many kinds, differentiated by Enzyme, beside twins in JAX, differentiated by JAX.",
    ),
    "cuba": (
        "A whole network",
        "The CUBA network of Brette et al. (2007), per step of 0.1 ms, beside simulators of the same model.",
    ),
    "coba": (
        "A whole network with conductances",
        "The COBA network of Brette et al. (2007), per step of 0.1 ms, beside simulators of the same model.",
    ),
    "inhibitory_stdp": (
        "A network whose inhibition learns",
        "The network of Vogels et al. (2011), per step of 0.1 ms, beside Brian2.",
    ),
    "hpc_benchmark": (
        "A network whose excitation learns",
        "NEST's benchmark of Morrison et al. (2007) with STDP, per spike, beside NEST.",
    ),
    "microcircuit": ("The cortical microcircuit", "The model of Potjans and Diesmann (2014), beside NEST."),
    "microcircuit_statistics": (
        "The microcircuit's statistics",
        "Kolmogorov-Smirnov distances between the distributions of our spike trains and of NEST's.",
    ),
    "brainevent": (
        "Programs of BrainEvent",
        "The same programs with this catalog as the backend, and with BrainEvent's own.",
    ),
    "graph_messages": (
        "Messages along edges",
        "Products over graphs and their gradients, beside gathered edges, DGL and PyTorch Geometric.",
    ),
    "training": (
        "Training",
        "A loss of recurrent networks and its gradients, beside scans in JAX, snnTorch, Norse and spyx.",
    ),
    "scaling": ("Scaling", "Time against size; the exponent is fitted to the upper half of the sizes."),
    "threads": ("Threads", "Parallel operators with one thread and with all, beside the memory's own gain."),
    "devices": ("Devices", "The CUBA network split over devices and processes of one host."),
    "processes": (
        "Processes",
        "A network that exchanges spikes once per delay, in one process and in two; an all-gather.",
    ),
    "memory": ("Memory", "Resident memory per synapse, each kind of matrix in processes of its own."),
    "cold": ("Cold start", "Imports and first calls in fresh processes."),
    "gpu": ("On a GPU", "Launches, operators and networks on a GPU, beside XLA and other libraries."),
    "gpu_counters": (
        "GPU kernels, counted without a GPU",
        "The PTX of CUDA kernels, executed on a CPU. Nothing was timed: estimates are by a roofline.",
    ),
}
_OTHER_COMMANDS: Final = {
    "microcircuit_statistics": "python -m event_ops_harness.bench.microcircuit_statistics",
    "gpu": "nox -s gpu",
    "gpu_counters": "nox -s counters",
}
COMMANDS: Final[Mapping[str, str]] = {
    MATRIX: "nox -s matrix",
    **{name: _OTHER_COMMANDS.get(name, f"nox -s bench -- {name}") for name in TEXTS},
}


def benchmark(name: str) -> str:
    """Return the benchmark of a file: the longest known one that its name is, or begins with before a `_`."""
    matching = (x for x in COMMANDS if f"{name}_".startswith(f"{x}_"))
    return max(matching, key=len, default=name)
