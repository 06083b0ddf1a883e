"""Every Numba kernel of the catalog as a function of Python: `NUMBA_DISABLE_JIT=1 python python_forms.py`.

Prints how many small cells each operator has, all of which gave what its oracle gives.
"""

import json

from catalog_operators import OPERATORS
from value_cells import value_cells

from event_ops_harness.conformance.select import small

BACKEND = "numba_cpu"

if __name__ == "__main__":
    looked_at = {}
    for operator in OPERATORS:
        cells = [cell for cell in value_cells(operator, BACKEND) if small(operator, cell.case)]
        for cell in cells:
            cell.check()
        looked_at[operator.name] = len(cells)
    print(json.dumps(looked_at))
