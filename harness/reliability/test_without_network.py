"""Nothing looks for a network: operators, kernels, and the demo run where every connection is an error."""

import pytest
from child_processes import succeed

from event_ops.discover import operators

pytestmark = pytest.mark.promise(12)

NAMES = [operator.name for operator in operators()]


@pytest.mark.parametrize(
    "names", [("csr_matvec", "lif_step"), pytest.param(NAMES, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_connection_is_tried(tmp_path, names, record_property):
    record_property("tried", len(names))
    succeed("without_network.py", tmp_path / "cuba.png", *names, limit=900)
