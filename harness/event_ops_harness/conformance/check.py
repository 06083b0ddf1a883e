"""Check cells from Python."""

from collections.abc import Sequence
from typing import Final

from event_ops.cases import Case, InvalidCall
from event_ops.discover import Operator
from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.compare import NotApplicable
from event_ops_harness.conformance.processes import Place, Processes
from event_ops_harness.conformance.properties import QUICK, cells
from event_ops_harness.conformance.report import Outcome, Report, explain
from event_ops_harness.results import FAILED, PASSED, SKIPPED
from ffi_bridge import XLACustomKernel

LISTED: Final = (
    "list the Operator in OPERATORS of a module, not of the main program, and give that one: then a process "
    "of its own looks at it"
)


def check_operator(
    operator: Operator | XLACustomKernel,
    cases: Sequence[Case] = (),
    *,
    dtypes: Sequence[str] = ("float32",),
    invalid_calls: Sequence[InvalidCall] = (),
    properties: Sequence[str] = (),
    profile: str = QUICK,
) -> Report:
    """Check every property of an operator on each of its backends that runs on this machine's CPU.

    Kernels run in this process, except for the properties `bounds`, `shard_map` and `races`: these need
    another process, which imports the module that lists the operator in `OPERATORS`. Without such a module
    they are skipped.

    Args:
        operator: an `Operator`, which holds what the rest would say; or a kernel, whose cases are then
            arguments of `kernel(*arrays, **kwargs)`, `outs` among them.
        cases: named inputs; `Case.differentiable` says which have derivatives.
        dtypes: those that the cases are made in, the usual one first.
        invalid_calls: wrong calls, with the error that each must raise.
        properties: only these; default: all.
        profile: "quick": as few cases as exercise each property; "full": all of them.

    Returns:
        The report; `print` it. Its `failures` have the cell, the input, got, expected and tolerance.

    Raises:
        ValueError: no cases, or a property that does not exist.
    """
    if isinstance(operator, XLACustomKernel):
        operator = Operator(
            operator.name, operator, operator, tuple(dtypes), tuple(cases), tuple(invalid_calls)
        )
    if not operator.cases:
        raise ValueError(f"operator {operator.name!r} has no cases; give at least one event_ops.cases.Case")
    processes, place = Processes(), Place.of(operator)
    try:
        outcomes = [_look_at(cell, processes, place) for cell in cells([operator], profile, properties)]
    finally:
        processes.end()
    return Report(tuple(outcomes))


def _look_at(cell: Cell, processes: Processes, place: Place | None) -> Outcome:
    """Check a cell, in a separate process if the property needs one."""
    if cell.prop.apart and place is not None:
        return processes.look_at(cell, place)
    obstacle = cell.prop.obstacle()
    if cell.prop.apart and obstacle is not None:
        return Outcome(cell, SKIPPED, f"{obstacle}, or {LISTED}")
    return look_at(cell)


def look_at(cell: Cell, module: str | None = None) -> Outcome:
    """Check a cell and return its outcome; `module` lists the operator."""
    obstacle = cell.prop.obstacle()
    if obstacle is not None:
        return Outcome(cell, SKIPPED, obstacle)
    try:
        cell.check()
    except NotApplicable as reason:
        return Outcome(cell, SKIPPED, str(reason))
    except Exception as error:  # whatever a kernel or JAX raises is what is wrong with the cell
        return Outcome(cell, FAILED, explain(cell, error, module))
    return Outcome(cell, PASSED)
