"""What each operator must give, in plain NumPy and as slow and plain as can be: loops, wide types, no JAX.

One module per operator, with a function of the same name.
"""

import importlib


def oracle(name):
    return getattr(importlib.import_module(f"{__name__}.{name}"), name)
