"""Every operator of the catalog has every property on every backend of a CPU: the quick profile."""

import pytest
from catalog_operators import OPERATORS
from reviewed import APART, assert_all_hold, assert_holds, number_of_arguments, parameters

from event_ops_harness.conformance.properties import FULL, PROPERTIES, VALUES, cells
from event_ops_harness.table import by_family

ALL = cells(OPERATORS)
# The quick run checks a property on one case of each operator: every case more is another kernel to compile.
# What rules and the bridge decide, and kernels hardly, once for each family of operators, and so all
# on other backends than the default one, but values.
OF_FAMILIES = {
    "deterministic",
    "disable_jit",
    "donation",
    "export",
    "jvp",
    "kernel_derivatives",
    "nan_derivatives",
    "nested_vmap",
    "shape",
    "threads",
    "transpose",
    "vjp",
    "vmap_last",
    "while",
    "written",
}
# What JAX makes of these rules, once.
OF_ALL = {"remat", "second", "vmap_grad"}
FAMILY = {member.name: family for family, members in by_family(OPERATORS).items() for member in members}


def scope(cell):
    """Return the key of cells of which the quick run checks one: operator or family, backend, property."""
    name = cell.operator.name
    if cell.prop.name in OF_ALL:
        return "", cell.backend, cell.prop.name
    alone = is_default(cell) and cell.prop.name not in OF_FAMILIES
    # Rules are the same on every backend, and on this one nothing is compiled for float64.
    alone |= cell.prop is VALUES or (cell.backend == "reference" and cell.prop.name == "vjp")
    return name if alone else FAMILY[name], cell.backend, cell.prop.name


def is_default(cell):
    """Return whether the cell's backend is the one that is tried first."""
    return cell.backend == cell.operator.kernel.defaults["cpu"]


def order(numbered):
    """Sort the cells of the operators with the fewest arguments to the end, and of each the first cells."""
    number, cell = numbered
    return number_of_arguments(cell.operator), number


FIRST = {scope(cell): cell.id for _, cell in sorted(enumerate(ALL), key=order, reverse=True)}


def takes_long(cell):
    """Return whether `nox -s tests` leaves the cell to `nox -s slow` and `nox -s conformance`."""
    return FIRST[scope(cell)] != cell.id


CELLS = parameters(ALL, takes_long)


@pytest.mark.parametrize("cell", CELLS)
def test_cell(cell):
    assert_holds(cell, "catalog_operators")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_has_cases_of_different_names_and_mistakes(operator):
    assert len({case.name for case in operator.cases}) == len(operator.cases) > 0
    assert operator.invalid_calls


def places(chosen):
    """(operator, backend, property) of cells."""
    return {(cell.operator.name, cell.backend, cell.prop.name) for cell in chosen}


def test_no_operator_and_no_property_is_left_out():
    """Compare all properties with those checked here, here with the mark slow, and in processes apart."""
    names = {prop.name for prop in PROPERTIES}
    assert set(APART) == {"bounds", "shard_map", "races"}
    quick = places(cell.values[0] for cell in CELLS if pytest.mark.slow not in cell.marks)
    assert {name for _, _, name in quick} == names - set(APART)
    # `nox -s matrix -- --profile full` looks at other backends by all that the default one has.
    left = places(cells(OPERATORS, FULL)) - places(ALL)
    defaults = {(operator.name, operator.kernel.defaults["cpu"]) for operator in OPERATORS}
    applicable = {"nan_derivatives"}  # to operators that promise something of inactive events
    assert {name for operator, backend, name in left if (operator, backend) in defaults} <= applicable
    for operator in OPERATORS:
        for backend in operator.kernel.available_backends("cpu"):
            usual = ("values", "jit", "vmap", "scan") if (operator.name, backend) in defaults else ("values",)
            assert {(operator.name, backend, name) for name in usual} <= quick


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("catalog_operators", APART),
        # On small inputs operators choose kernels for one thread.
        ("operators_on_all_threads", ("races", "values"), "--profile", "full"),
    ],
    ids=["as they are", "on all threads"],
)
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race(options):
    assert_all_hold(*options)
