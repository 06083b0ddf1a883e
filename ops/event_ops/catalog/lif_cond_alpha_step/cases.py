"""Cases of `lif_cond_alpha_step`."""

from event_ops.cases import Rounding
from event_ops.cases.bench import Bench
from event_ops.cases.neurons import COBA, Population, gamma, held, uniform
from event_ops.surrogate import fast_sigmoid

DTYPES = ("float32", "float64")
ROUNDING = Rounding(4)

MOVING = V_M, G_EX, G_IN, DG_EX, DG_IN = 0, 2, 3, 4, 5

# The COBA network's neuron, with synapses as fast as those of NEST.
ALPHA = COBA | {"tau_syn_ex": 0.5, "tau_syn_in": 2.0}
STATES = {
    "V_m": uniform(-60, -49.9),
    "refractory": held(50),
    "g_ex": gamma(12),
    "g_in": gamma(66),
    "dg_ex": gamma(24),
    "dg_in": gamma(66),
}
POPULATION = Population(ALPHA, STATES)

CASES = POPULATION.conductance_cases(MOVING, fast_sigmoid())
INVALID_CALLS = POPULATION.invalid_conductances("dg_in")

BENCH = Bench(carried={i: i for i in range(6)})
