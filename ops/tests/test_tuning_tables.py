"""The tuning tables in the package: every operator reads them, and they say what can be obeyed."""

import json
from itertools import combinations
from pathlib import Path

import jax.numpy as jnp
import pytest

import event_ops
from event_ops.discover import operators
from ffi_bridge.operators import tuning

KERNELS = {operator.name: operator.kernel for operator in operators()}
FILES = sorted((Path(event_ops.__file__).parent / "tuning").glob("*.json"))


@pytest.mark.parametrize("name", KERNELS)
def test_every_operator_reads_the_tables_of_the_package(name: str) -> None:
    line = 'kernel.def_tuning("event_ops:tuning")'
    assert KERNELS[name].tuning == "event_ops:tuning", f"add this line to {name}/op.py:\n{line}"


def test_a_row_reaches_the_kernel_of_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    row = tuning.Row(
        "pack_events", "cpu", "bool -> uint32", (), 0, None, "reference", "numba_cpu", 2.0, "cpu"
    )
    monkeypatch.setitem(tuning._TABLES, ("event_ops:tuning", "cpu"), (row,))
    events, words = jnp.ones(7, bool), jnp.ones(1, jnp.uint32)
    found = KERNELS["pack_events"].explain(events, outs=words, platform="cpu")
    assert (found.backend, found.why) == ("reference", str(row))


def test_tables_name_operators_and_backends_that_exist_and_rows_do_not_overlap() -> None:
    assert FILES
    for file in FILES:
        kind = json.loads(file.read_text())["device_kind"]
        assert file.stem == tuning.slug(kind)
        rows = tuning.parse(file.read_text(), kind)
        for row in rows:
            here = KERNELS[row.operator].backends[row.platform]
            assert {row.backend, row.over} <= set(here), row
            assert row.backend != row.over and row.ratio > 1, row
        for a, b in combinations(rows, 2):
            if (a.operator, a.platform, a.dtypes, a.flags) == (b.operator, b.platform, b.dtypes, b.flags):
                assert a.up_to is not None and a.up_to <= b.above, (a, b)
