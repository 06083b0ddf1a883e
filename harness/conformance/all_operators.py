"""The catalog, messages, models of neurons, rules of plasticity: `pytest --operators all_operators`."""

from catalog_operators import OPERATORS as CATALOG
from message_operators import OPERATORS as MESSAGES
from neuron_operators import OPERATORS as NEURONS
from plasticity_operators import OPERATORS as RULES

OPERATORS = *CATALOG, *MESSAGES, *NEURONS, *RULES
