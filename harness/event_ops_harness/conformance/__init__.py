"""Test operators, of the catalog or anybody else's, for the properties that every operator must have.

`check_operator` runs it from Python, `pytest --operators MODULE` as tests.
"""

from event_ops.cases import Case, InvalidCall, Rounding
from event_ops.discover import Operator
from event_ops_harness.conformance.check import check_operator
from event_ops_harness.conformance.report import Outcome, Report

__all__ = ["Case", "InvalidCall", "Operator", "Outcome", "Report", "Rounding", "check_operator"]
