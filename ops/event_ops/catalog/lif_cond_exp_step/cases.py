"""Cases of `lif_cond_exp_step`."""

from event_ops.cases import Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import COBA, Population, gamma, held, uniform
from event_ops.cases.operations import neuron_step
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

MOVING = V_M, G_EX, G_IN = 0, 2, 3

POPULATION = Population(
    COBA, {"V_m": uniform(-60, -49.9), "refractory": held(50), "g_ex": gamma(12), "g_in": gamma(66)}
)

CASES = POPULATION.conductance_cases(MOVING, fast_sigmoid())
INVALID_CALLS = POPULATION.invalid_conductances("g_in")

# All compare the refractory time and decay two conductances. What is held subtracts dt, and compares with 0.
# What is free takes the means of the conductances (2), their sum (2), V_inf (4, and its division), exp
# and its argument (2), three operations towards V_inf, and compares with the threshold.
BENCH = Bench(carried={0: 0, 1: 1, 2: 2, 3: 3}, operations=neuron_step(free=18, held=5, inputs=()))
