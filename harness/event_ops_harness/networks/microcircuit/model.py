"""Parameters of the cortical microcircuit, at full scale and in a smaller network.

    membrane    tau_m dV/dt = -(V - E_L) + tau_m / C_m * (I + I_dc)    (V is held while refractory)
    synapses    tau_syn dI/dt = -I,  I += w at each arrival

    synapses of a projection   K = log(1 - p) / log(1 - 1 / (N_target N_source))
    current of a potential     w = PSP / max over t of tau_m tau_syn / (C_m (tau_m - tau_syn))
                                                     (exp(-t / tau_m) - exp(-t / tau_syn))
    background                 Poisson, K_ext * 8 Hz, or the constant current tau_syn K_ext * 8 Hz * w

    scaled to s times the neurons, which may be more than all, and a part k of the inputs of each:
    N -> s N,  K -> s k K,  w -> w / sqrt(k),
    I_dc += tau_syn (1 - sqrt(k)) sum over inputs of (in-degree * rate * w), in-degrees and w of full scale

Sources: Potjans and Diesmann 2014, Cereb. Cortex 24:785-806 (tables 4 and 5); van Albada et al. 2015, PLoS
Comput. Biol. 11:e1004490 (scaling); initial potentials and mean rates are those of NEST's implementation.
"""

import math
from dataclasses import dataclass

import numpy as np

POPULATIONS = ("L23E", "L23I", "L4E", "L4I", "L5E", "L5I", "L6E", "L6I")
L23E, L4E = POPULATIONS.index("L23E"), POPULATIONS.index("L4E")
EXCITATORY = np.array([name.endswith("E") for name in POPULATIONS])
FULL_SIZES = np.array([20683, 5834, 21915, 5479, 4850, 1065, 14395, 2948])

# Row: target, column: source.
PROBABILITY = np.array([
    [0.1009, 0.1689, 0.0437, 0.0818, 0.0323, 0.0000, 0.0076, 0.0000],
    [0.1346, 0.1371, 0.0316, 0.0515, 0.0755, 0.0000, 0.0042, 0.0000],
    [0.0077, 0.0059, 0.0497, 0.1350, 0.0067, 0.0003, 0.0453, 0.0000],
    [0.0691, 0.0029, 0.0794, 0.1597, 0.0033, 0.0000, 0.1057, 0.0000],
    [0.1004, 0.0622, 0.0505, 0.0057, 0.0831, 0.3726, 0.0204, 0.0000],
    [0.0548, 0.0269, 0.0257, 0.0022, 0.0600, 0.3158, 0.0086, 0.0000],
    [0.0156, 0.0066, 0.0211, 0.0166, 0.0572, 0.0197, 0.0396, 0.2252],
    [0.0364, 0.0010, 0.0034, 0.0005, 0.0277, 0.0080, 0.0658, 0.1443],
])  # fmt: skip
K_EXT = np.array([1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100])
V_MEAN = np.array([-68.28, -63.16, -63.33, -63.45, -63.11, -61.66, -66.72, -61.43])  # mV, at the start
V_SD = np.array([5.36, 4.57, 4.74, 4.94, 4.94, 4.55, 5.46, 4.48])
FULL_RATES = np.array([0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829])  # Hz, at full scale
THALAMUS = 902  # neurons
THALAMUS_PROBABILITY = np.array([0, 0, 0.0983, 0.0619, 0, 0, 0.0512, 0.0196])

DRIVES = ("poisson", "dc")


class ModelError(ValueError):
    """Parameters make no network; the message is one line for the user."""


def fixed_total_number(probability: np.ndarray, targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return how many synapses, drawn with replacement, connect a pair with this probability."""
    pairs = np.multiply.outer(targets, np.asarray(sources, np.float64))
    return np.log1p(-probability) / np.log1p(-1.0 / pairs)


@dataclass(frozen=True)
class Microcircuit:
    """Hold the parameters: times in ms, potentials in mV, currents in pA, rates in Hz."""

    N_scaling: float = 1.0
    K_scaling: float = 1.0
    drive: str = "poisson"
    C_m: float = 250.0  # pF
    tau_m: float = 10.0
    tau_syn: float = 0.5
    E_L: float = -65.0
    V_th: float = -50.0
    V_reset: float = -65.0
    t_ref: float = 2.0
    dt: float = 0.1
    PSP: float = 0.15  # mV, of an excitatory synapse
    g: float = -4.0  # inhibitory over excitatory weight
    weight_rel_sd: float = 0.1
    delay_ex: float = 1.5
    delay_in: float = 0.75
    delay_rel_sd: float = 0.5
    bg_rate: float = 8.0
    thalamic_rate: float = 120.0  # of each thalamic neuron during a pulse
    thalamic_duration: float = 10.0

    def __post_init__(self) -> None:
        if self.drive not in DRIVES:
            raise ModelError(f"drive is {self.drive!r}; expected one of {', '.join(DRIVES)}")
        if not 0 < self.K_scaling <= 1:
            raise ModelError(f"K_scaling is {self.K_scaling:g}; expected a part, in (0, 1]")
        if not 0 < self.N_scaling < math.inf:
            raise ModelError(f"N_scaling is {self.N_scaling:g}; expected a number > 0")
        if self.sizes.min() < 1:
            raise ModelError(
                f"N_scaling {self.N_scaling:g} leaves a population empty; expected at least "
                f"{1 / FULL_SIZES.min():.2g}"
            )

    @property
    def sizes(self) -> np.ndarray:
        """Neurons of each population, rounded down."""
        # 1e-6, since a product that is a whole number may lie a rounding below it.
        return np.floor(FULL_SIZES * self.N_scaling + 1e-6).astype(np.int64)

    @property
    def neurons(self) -> int:
        return int(self.sizes.sum())

    @property
    def first(self) -> np.ndarray:
        """(9,), the first neuron of each population, and one past the last."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def full_synapses(self) -> np.ndarray:
        """(8, 8), target by source, of the network at full scale, not rounded."""
        return fixed_total_number(PROBABILITY, FULL_SIZES, FULL_SIZES)

    @property
    def synapses(self) -> np.ndarray:
        """(8, 8), int64, target by source."""
        return np.round(self.full_synapses * self.N_scaling * self.K_scaling).astype(np.int64)

    @property
    def thalamic_neurons(self) -> int:
        return max(1, math.floor(THALAMUS * self.N_scaling + 1e-6))

    @property
    def thalamic_synapses(self) -> np.ndarray:
        """(8,), int64, onto each population."""
        full = fixed_total_number(THALAMUS_PROBABILITY, FULL_SIZES, np.array(THALAMUS))
        return np.round(full * self.N_scaling * self.K_scaling).astype(np.int64)

    @property
    def PSC_over_PSP(self) -> float:
        """pA per mV: the reciprocal of the peak that 1 pA causes."""
        ratio = self.tau_m / self.tau_syn
        peak_time = self.tau_m * self.tau_syn / (self.tau_m - self.tau_syn) * math.log(ratio)
        rise = math.exp(-peak_time / self.tau_m) - math.exp(-peak_time / self.tau_syn)
        return self.C_m * (self.tau_m - self.tau_syn) / (self.tau_m * self.tau_syn) / rise

    @property
    def full_weights(self) -> np.ndarray:
        """(8, 8), mean weights at full scale in pA, target by source."""
        by_source = np.where(EXCITATORY, 1.0, self.g) * self.PSP * self.PSC_over_PSP
        weights = np.tile(by_source, (len(POPULATIONS), 1))
        weights[L23E, L4E] *= 2
        return weights

    @property
    def weights(self) -> np.ndarray:
        return self.full_weights / math.sqrt(self.K_scaling)

    @property
    def delays(self) -> np.ndarray:
        """(8,), mean delays in ms, by source."""
        return np.where(EXCITATORY, self.delay_ex, self.delay_in)

    @property
    def weight_ext(self) -> float:
        """pA, of a background and of a thalamic synapse."""
        return self.PSP * self.PSC_over_PSP / math.sqrt(self.K_scaling)

    @property
    def external_rates(self) -> np.ndarray:
        """(8,), Hz: all background inputs of a neuron together; 0 with the constant drive."""
        inputs = np.round(K_EXT * self.K_scaling)
        return inputs * self.bg_rate * (self.drive == "poisson")

    @property
    def I_dc(self) -> np.ndarray:
        """Return (8,), pA: the constant drive, and a current for the mean input that scaling takes away."""
        charge = 1e-3 * self.tau_syn  # seconds that a current of 1 pA lasts
        background = charge * K_EXT * self.bg_rate * self.PSP * self.PSC_over_PSP
        in_degrees = self.full_synapses / FULL_SIZES[:, None]
        recurrent = charge * (self.full_weights * in_degrees) @ FULL_RATES
        lost = 1 - math.sqrt(self.K_scaling)
        return lost * recurrent + (lost * background if self.drive == "poisson" else background)

    def per_neuron(self, by_population: np.ndarray) -> np.ndarray:
        """Return (neurons,), from one value per population."""
        return np.repeat(by_population, self.sizes)

    def steps(self, seconds: float) -> int:
        """Return the number of time steps in `seconds` of model time."""
        return max(1, round(seconds * 1000.0 / self.dt))
