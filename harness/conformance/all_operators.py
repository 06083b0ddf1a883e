"""The catalog's operators, models of neurons and rules of plasticity: `pytest --operators all_operators`."""

from catalog_operators import OPERATORS as CATALOG
from neuron_operators import OPERATORS as NEURONS
from plasticity_operators import OPERATORS as RULES

OPERATORS = *CATALOG, *NEURONS, *RULES
