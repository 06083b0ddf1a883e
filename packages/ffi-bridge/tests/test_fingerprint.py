"""Equal contents have equal fingerprints; whatever changes machine code changes them."""

import functools
import math
import operator
import types
from collections import namedtuple

import child_python
import numba
import numpy as np
import pytest
from numba.extending import intrinsic

from ffi_bridge.identity import internals
from ffi_bridge.identity.fingerprint import fingerprint, overloads_of_others

pytestmark = pytest.mark.promise(6)

SCALE = 2.0
settings = types.ModuleType("settings")
settings.gain = 1.0


def scaled(factor, **options):
    @numba.njit(**options)
    def kernel(x, out):
        for i in range(out.size):
            out[i] = x[i] * factor

    return kernel


@numba.njit
def reads_global(x, out):
    out[0] = x[0] * SCALE


@numba.njit
def reads_module(x, out):
    out[0] = x[0] * settings.gain


@numba.njit
def reads_module_by_another_name(x, out):
    known_as = settings
    inside = known_as.nested
    out[0] = x[0] * known_as.gain + inside.offset


@numba.njit
def callee(x):
    return x * SCALE


@numba.njit
def calls(x, out):
    out[0] = callee(x[0])


@numba.njit
def recursive(n):
    return 1 if n < 2 else n * recursive(n - 1)


def test_same_source_is_the_same():
    assert fingerprint(scaled(2.0)) == fingerprint(scaled(2.0))


@pytest.mark.parametrize(
    "other",
    [
        scaled(3.0),
        scaled(2),
        scaled(np.float32(2.0)),
        scaled(2.0, parallel=True),
        scaled(2.0, fastmath=True),
        scaled(2.0, fastmath={"nnan"}),
        scaled(2.0, boundscheck=True),
        scaled(2.0, error_model="numpy"),
    ],
)
def test_options_and_closures_tell_kernels_apart(other):
    assert fingerprint(scaled(2.0)) != fingerprint(other)


def shifted(bits):
    @intrinsic
    def shift(context, x):
        def emit(context, builder, signature, arguments):
            return builder.shl(arguments[0], arguments[0].type(bits))

        return x(x), emit

    @numba.njit
    def kernel(x, out):
        out[0] = shift(x[0])

    return kernel


def test_intrinsics_count_by_what_they_emit():
    assert fingerprint(shifted(1)) == fingerprint(shifted(1))
    assert fingerprint(shifted(1)) != fingerprint(shifted(2))


def test_arrays_in_closures_count_by_contents():
    assert fingerprint(scaled(np.arange(3))) == fingerprint(scaled(np.arange(3)))
    assert fingerprint(scaled(np.arange(3))) != fingerprint(scaled(np.arange(3) + 1))
    assert fingerprint(scaled(np.zeros(4))) != fingerprint(scaled(np.zeros((2, 2))))


def test_arrays_that_numba_reads_in_place_count_by_identity():
    large = np.zeros(1_000_000, np.float32)
    for array in (large, np.zeros((4, 4))[::2, ::2]):
        assert fingerprint(scaled(array)) == fingerprint(scaled(array))
        assert fingerprint(scaled(array)) != fingerprint(scaled(array.copy()))
        assert not fingerprint(scaled(array)).portable


def test_fields_of_named_tuples_count():
    one, other = (namedtuple("Parameters", names)(1.0, 2.0) for names in ("tau v", "v tau"))
    assert fingerprint(scaled(one)) == fingerprint(scaled(one._replace()))
    assert fingerprint(scaled(one)) != fingerprint(scaled(other))


def vectorized(factor):
    @numba.vectorize
    def scale(v):
        return v * factor

    return scaled(scale)


def test_vectorized_functions_count_by_contents_and_in_this_process_only():
    assert fingerprint(vectorized(2)) != fingerprint(vectorized(3))
    assert not fingerprint(vectorized(2)).portable


def test_partials_count_by_contents():
    """A chooser of an overload may compile what it returns by a partial of `numba.njit`."""
    one, same, other = (fingerprint(functools.partial(numba.njit, cache=x)) for x in (True, True, False))
    assert one == same != other and one.portable
    assert not fingerprint(functools.partial(print, object())).portable


class OwnType(numba.types.Type):
    """A type of one's own, whose definition is this file."""


def test_numba_types_of_ones_own_count_by_contents():
    assert fingerprint(numba.njit(lambda x: OwnType)).portable


@pytest.mark.parametrize("kernel", [reads_global, calls])
def test_globals_count_also_in_callees(kernel, monkeypatch):
    before = fingerprint(kernel)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert fingerprint(kernel) != before


def test_attributes_of_modules_count(monkeypatch):
    before = fingerprint(reads_module)
    monkeypatch.setattr(settings, "gain", 3.0)
    assert fingerprint(reads_module) != before


def test_attributes_of_a_module_under_another_name_count(monkeypatch):
    monkeypatch.setattr(settings, "nested", types.ModuleType("nested"), raising=False)
    monkeypatch.setattr(settings.nested, "offset", 1.0, raising=False)
    before = fingerprint(reads_module_by_another_name)
    assert fingerprint(reads_module_by_another_name) == before
    monkeypatch.setattr(settings, "gain", 3.0)
    changed = fingerprint(reads_module_by_another_name)
    assert changed != before
    monkeypatch.setattr(settings.nested, "offset", 3.0)
    assert fingerprint(reads_module_by_another_name) not in (before, changed)


def test_recursion_ends():
    assert fingerprint(recursive) == fingerprint(recursive)


def test_containers_do_not_run_together():
    assert fingerprint(("ab", "c")) != fingerprint(("a", "bc"))
    assert fingerprint((1, (2, 3))) != fingerprint((1, 2, 3))
    assert fingerprint(1) != fingerprint(True)
    assert fingerprint({1, 2}) == fingerprint({2, 1})
    assert fingerprint(math.exp) != fingerprint(math.log)
    assert fingerprint(np.exp) != fingerprint(np.log)
    assert fingerprint(operator.mul) != fingerprint(operator.add)
    assert all(fingerprint(f).portable for f in (math.exp, np.exp, operator.mul, max))
    assert fingerprint(np.where) != fingerprint(np.sort)
    assert fingerprint(None) != fingerprint("None")


def test_objects_without_contents_are_told_apart_by_identity():
    one, two = object(), object()
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(two)


class Gain:
    """Its instances have attributes, one of which may be the instance."""

    def __init__(self, value):
        self.value, self.itself = value, self


def test_instances_of_ones_own_classes_count_by_contents_where_asked():
    one, same, other = (fingerprint(Gain(value), instances=True) for value in (1.0, 1.0, 2.0))
    assert one == same != other and one.portable
    assert not fingerprint(Gain(object()), instances=True).portable
    gain = Gain(1.0)
    before = fingerprint(gain)
    gain.cached = True  # as `functools.cached_property` has it
    assert fingerprint(gain) == before


def test_overloads_of_library_functions_by_others_count(monkeypatch):
    before = overloads_of_others()
    template = types.SimpleNamespace(key=len, _overload_func=lambda x: lambda x: 1)
    templates = [*internals.declared_templates(), template]
    monkeypatch.setattr(internals, "declared_templates", lambda: templates)
    assert overloads_of_others() != before


def test_equal_in_every_process():
    program = (
        "import numba, numpy as np, math\nfrom ffi_bridge.identity.fingerprint import fingerprint\n"
        "C = (1, 2.5, 'x', frozenset(['b', 'a', 'c']), np.arange(3))\n"
        "@numba.njit(fastmath={'nnan', 'ninf'})\n"
        "def k(x, out):\n    out[0] = math.exp(x[0]) + C[0] + np.where(x > 0, x, 0)[0]\n"
        "print(fingerprint(k))"
    )
    # exec'd source has no file, as in a notebook
    runs = {child_python.output("-c", program, new=True, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(runs) == 1


def test_an_ellipsis_is_a_constant_like_others():
    def fill(x, y):
        y[...] = x[0]

    def slice_(x, y):
        y[:] = x[0]

    found = fingerprint(fill)
    assert found.portable and fingerprint(...).portable
    assert found.digest != fingerprint(slice_).digest
