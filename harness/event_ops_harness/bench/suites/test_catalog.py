"""Time every operator of the catalog: each of its backends on the CPU, and the libraries that do the same.

Times are per call from Python until the result is ready, or per step of a loop in machine code, as `steps.py`
says; rivals that have no such loop are called. XLA's pool leaves a core to the thread that calls. Each group
is an operator, a case and a dtype. The share is that of the bytes that must move, as the folder of the
operator counts them, in what the STREAM triad moves in the same time, in this run, on arrays beyond the
caches: above 1 where a case fits a cache. Gradients, of the largest case of each orientation, are called; so
are products with weights of 16 bits beside float32. Not measured: memory, first calls, other types than the
first that an operator takes.

`--operators MODULE` takes those that MODULE.OPERATORS lists, and their cases that are tagged "benchmark".
"""

import functools
import importlib

import jax
import jax.numpy as jnp
import pytest

from event_ops.cases import BENCHMARK
from event_ops.checks.arrays import HALVES
from event_ops.discover import operators
from event_ops_harness.bench import members
from event_ops_harness.bench.rivals import rivals_of
from event_ops_harness.bench.steps import called, largest, named, stored_in_halves
from event_ops_harness.networks.shared.processes import leave_a_processor

# Here, before anything starts XLA's pool, which reads its size once.
leave_a_processor()

GRADIENT = ("value_and_grad", "value")
WIDTHS = ("float32", *HALVES)


def pytest_generate_tests(metafunc):
    chosen = operators_of(metafunc.config.getoption("operators", []))
    if metafunc.function is test_operator:
        names = {op.name: [*members.backends_of(op), *rivals_of(op.name)] for op in chosen}
        cells = [(op, case, x) for op in chosen for case in op.tagged(BENCHMARK) for x in names[op.name]]
    elif metafunc.function is test_gradient:
        cells = [(op, case, x) for op in chosen for case in gradient_cases(op) for x in GRADIENT]
    else:
        stored = filter(stored_in_halves, chosen)
        cells = [(op, case, x) for op in stored for case in op.tagged(BENCHMARK) for x in WIDTHS]
    nothing = pytest.param("", "", "", marks=pytest.mark.skip("it is about none of these operators"))
    metafunc.parametrize(
        ("operator", "case", "member"),
        [
            pytest.param(
                *(op.name, case.name, member),
                id=f"{op.name}-{case.name}-{member}",
                marks=[pytest.mark.quick] if case is op.tagged(BENCHMARK)[0] else [],
            )
            for op, case, member in cells
        ]
        or [nothing],
    )


def operators_of(modules):
    """Return the operators of the modules, or of the catalog if there are none."""
    chosen = [x for name in modules for x in importlib.import_module(name).OPERATORS] or operators()
    for operator in chosen:
        if not operator.tagged(BENCHMARK):
            tagged = f"Case(..., tags=frozenset({{{BENCHMARK!r}}}))"
            raise pytest.UsageError(f"{operator.name} has no case to measure; tag one: {tagged}")
    return chosen


@pytest.fixture
def at(request, operator, case, benchmark):
    """Return the operator and the case of these names."""
    of_name = next(x for x in operators_of(request.config.getoption("operators", [])) if x.name == operator)
    of_case = next(x for x in of_name.tagged(BENCHMARK) if x.name == case)
    benchmark.group = named(of_name, of_case)
    return of_name, of_case


def test_operator(in_turns, at, member):
    operator, case = at
    members.report(in_turns, operator, case, member, members.backends_of(operator))


def gradient_cases(operator):
    return largest(operator) if operator.bench.linear else []


@functools.lru_cache(maxsize=1)
def gradient_of(operator, case):
    """Return half the squared norm of the outputs with its gradient, and without; events are numbers."""
    problem = members.problem_of(operator, case)
    dtype = operator.dtypes[0]
    args = tuple(x.astype(dtype) if x.dtype == bool else x for x in problem.on_device)

    def value(*args):
        y = operator.function(*args, **problem.kwargs)
        return 0.5 * jnp.vdot(y, y)

    both = jax.value_and_grad(value, argnums=operator.bench.linear)
    return dict(zip(GRADIENT, (called(both, args), called(value, args)), strict=True))


def test_gradient(in_turns, at, member, benchmark):
    benchmark.group = f"gradient of {benchmark.group}"
    in_turns(gradient_of(*at), member, rtol=None, info={"operator": at[0].name})


@functools.lru_cache(maxsize=1)
def stored_of(operator, case):
    """Return calls with the weights stored in each width."""
    problem = members.problem_of(operator, case)
    product = functools.partial(operator.function, **problem.kwargs)
    return {dtype: called(product, problem.with_weights_in(dtype).on_device) for dtype in WIDTHS}


def test_stored(in_turns, at, member, benchmark):
    benchmark.group = f"weights of {benchmark.group}"
    in_turns(stored_of(*at), member, rtol=None, info={"operator": at[0].name})
