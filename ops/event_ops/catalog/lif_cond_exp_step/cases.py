"""Cases of `lif_cond_exp_step`."""

from event_ops.cases import Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import COBA, Population, gamma, held, uniform
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

MOVING = V_M, G_EX, G_IN = 0, 2, 3

POPULATION = Population(
    COBA, {"V_m": uniform(-60, -49.9), "refractory": held(50), "g_ex": gamma(12), "g_in": gamma(66)}
)

CASES = POPULATION.conductance_cases(MOVING, fast_sigmoid())
INVALID_CALLS = POPULATION.invalid_conductances("g_in")

BENCH = Bench(carried={0: 0, 1: 1, 2: 2, 3: 3})
