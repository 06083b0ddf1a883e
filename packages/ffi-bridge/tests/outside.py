"""Kernels `kernel(x, y)` with `y = number * x`, which read the number from outside, each in another way."""

import types

import numba
import numpy as np
from numba.experimental import jitclass
from numba.extending import overload

LOOP = """
def kernel(x, y):
    for i in range(x.size):
        y[i] = {factor} * x[i]
"""


def module(text, **names):
    """Return a module made of text, as a file would be, with `kernel` compiled by Numba."""
    made = types.ModuleType("settings")
    vars(made).update(names, numba=numba, np=np)
    exec(text, vars(made))
    made.kernel = numba.njit(made.kernel)
    return made


def a_global():
    own = module(LOOP.format(factor="GAIN"), GAIN=2.0)
    return own.kernel, "GAIN", lambda x: setattr(own, "GAIN", x)


def an_array_in_place():
    own = module(LOOP.format(factor="GAINS[1]"), GAINS=np.array([0.0, 2.0]))
    return own.kernel, "GAINS", lambda x: own.GAINS.__setitem__(1, x)


def a_tuple():
    own = module(LOOP.format(factor="GAINS[1]"), GAINS=(0, 2.0))
    return own.kernel, "GAINS", lambda x: setattr(own, "GAINS", (0, x))


def a_callee():
    def times(x):
        return numba.njit(lambda: x)

    own = module(LOOP.format(factor="gain()"), gain=times(2.0))
    return own.kernel, "x, in gain", lambda x: setattr(own, "gain", times(x))


def another_callee():
    number = {2.0: numba.njit(lambda: 2.0), 5.0: numba.njit(lambda: 5.0)}
    own = module(LOOP.format(factor="gain()"), gain=number[2.0])
    return own.kernel, "gain", lambda x: setattr(own, "gain", number[x])


def a_global_of_a_callee_elsewhere():
    other = module("def kernel(): return GAIN", GAIN=2.0)
    own = module(LOOP.format(factor="inner()"), inner=other.kernel)
    return own.kernel, "GAIN, in inner", lambda x: setattr(other, "GAIN", x)


def a_callee_that_python_called():
    other = module("def kernel(v): return GAIN * v", GAIN=2.0)
    other.kernel(1.0)
    own = module("def kernel(x, y):\n    for i in range(x.size): y[i] = inner(x[i])", inner=other.kernel)
    return own.kernel, "GAIN, in inner", lambda x: setattr(other, "GAIN", x)


def an_attribute_of_a_module():
    other = types.ModuleType("other")
    other.GAIN = 2.0
    own = module(LOOP.format(factor="other.GAIN"), other=other)
    return own.kernel, "other.GAIN", lambda x: setattr(other, "GAIN", x)


def a_module_in_a_module():
    inner, outer = types.ModuleType("inner"), types.ModuleType("outer")
    inner.GAIN, outer.inner = 2.0, inner
    text = "def kernel(x, y):\n    known_as = outer.inner\n    y[:] = known_as.GAIN * x"
    return module(text, outer=outer).kernel, "GAIN", lambda x: setattr(inner, "GAIN", x)


def a_cell():
    gain = 2.0

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = gain * x[i]

    def change(x):
        nonlocal gain
        gain = x

    return kernel, "gain", change


def a_class():
    """A method of a class that Numba compiles."""
    own = types.ModuleType("settings")
    text = "class Gain:\n    def __init__(self): self.n = 1.0\n    def of(self, v): return self.n * GAIN * v"
    vars(own)["GAIN"] = 2.0
    exec(text, vars(own))
    own.Gain.__module__ = __name__
    made = jitclass([("n", numba.float64)])(own.Gain)
    of = module("def kernel(x, y):\n    g = Gain()\n    for i in range(x.size): y[i] = g.of(x[i])", Gain=made)
    return of.kernel, "GAIN", lambda x: setattr(own, "GAIN", x)


def an_overload():
    gain = 2.0

    def chosen(v):
        raise NotImplementedError

    @overload(chosen)
    def _chosen(v):
        number = gain
        return lambda v: number * v

    def change(x):
        nonlocal gain
        gain = x

    own = module("def kernel(x, y):\n    for i in range(x.size): y[i] = chosen(x[i])", chosen=chosen)
    return own.kernel, "gain", change


def a_function(number=2.0):
    """A function that returns `number * x`."""
    own = module("def kernel(x): return x * GAIN", GAIN=number)
    return own.kernel, "GAIN", lambda x: setattr(own, "GAIN", x)


WAYS = [
    a_global,
    an_array_in_place,
    a_tuple,
    a_callee,
    another_callee,
    a_global_of_a_callee_elsewhere,
    a_callee_that_python_called,
    an_attribute_of_a_module,
    a_module_in_a_module,
    a_cell,
    a_class,
    an_overload,
]
