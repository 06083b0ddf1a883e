"""Every operator's Numba kernels as Python functions: `NUMBA_DISABLE_JIT=1 python python_forms.py [threads]`.

Prints how many small cells each operator has, all of which gave what its oracle gives. With `threads`
kernels share the work between threads on inputs of any size.
"""

import json
import sys

from all_operators import OPERATORS
from value_cells import value_cells

from event_ops_harness.conformance.all_threads import use_all_threads
from event_ops_harness.conformance.select import small

BACKEND = "numba_cpu"

if __name__ == "__main__":
    if sys.argv[1:] == ["threads"]:
        use_all_threads()
    checked = {}
    for operator in OPERATORS:
        cells = [cell for cell in value_cells(operator, BACKEND) if small(operator, cell.case)]
        for cell in cells:
            cell.check()
        checked[operator.name] = len(cells)
    print(json.dumps(checked))
