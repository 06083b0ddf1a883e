"""Every Warp kernel of the catalog becomes machine code of a GPU, whose parameters are those that we pack."""

import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

from cubin import parameters_of
from recording_driver import RecordingDriver

from event_ops.cases import CONFORMANCE
from event_ops.discover import operators
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.table import by_family


def plain_cases(operator):
    """The first case, and the first of the other orientation."""
    cases = operator.tagged(CONFORMANCE)
    turned = [
        c for c in cases if c.make(np.random.default_rng(0), operator.dtypes[0], "int32")[1].get("transpose")
    ]
    return dict.fromkeys([cases[0], *turned[:1]])


# The quick run executes one of each operator on the emulated GPU, in test_cuda_values.py.
QUICK = [members[0] for members in by_family(operators()).values()]
CELLS = [
    pytest.param(
        operator,
        case,
        id=f"{operator.name}-warp-{case.name}",
        marks=[] if operator in QUICK else pytest.mark.slow,
    )
    for operator in operators()
    for case in plain_cases(operator)
]


@pytest.mark.slow_cases("adex_step-warp-random")
@pytest.mark.parametrize(("operator", "case"), CELLS)
def test_kernels_compile_for_a_gpu(monkeypatch, operator, case):
    driver = RecordingDriver()
    monkeypatch.setattr("ffi_bridge.warp.cuda.cuda_driver", lambda: driver)
    trial = Trial(operator, "warp", case, operator.dtypes[0], "int32")
    traced = trial.jitted.trace(*trial.args)
    assert ".warp." in traced.lower(lowering_platforms=("cuda",)).as_text()
    for cubin, _ in driver.loaded:
        bounds, *rest = parameters_of(cubin.code, cubin.entry)
        assert bounds[1] in (24, 32)
        assert len(rest) == len(cubin.arguments)
