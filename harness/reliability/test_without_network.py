"""Nothing looks for a network: operators, kernels, and the demo run where every connection is an error."""

import subprocess
import sys

import pytest

from event_ops.discover import operators

pytestmark = pytest.mark.promise(12)

NAMES = [operator.name for operator in operators()]

PROGRAM = """
import socket
import sys

def refuse(*given, **_):
    sys.exit(f"a connection was tried: {given}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

import numpy as np
import event_ops
from event_ops.discover import operators
from event_ops_harness.cuba import cli

for operator in (x for x in operators() if x.name in sys.argv[2:]):
    case, rng = operator.tagged("conformance")[0], np.random.default_rng(0)
    args, kwargs = case.make(rng, operator.dtypes[0], "int32")
    operator.function(*args, **kwargs)
sys.exit(cli.main(["--neurons", "400", "--seconds", "0.05", "--output", sys.argv[1], "--no-progress"]))
"""


@pytest.mark.parametrize(
    "names", [("csr_matvec", "lif_step"), pytest.param(NAMES, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_connection_is_tried(tmp_path, names, record_property):
    record_property("tried", len(names))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "cuba.png"), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
