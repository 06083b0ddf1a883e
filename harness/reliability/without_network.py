"""Operators and the demo where a connection ends the process: `without_network.py FIGURE [OPERATOR ...]`."""

import socket
import sys


def refuse(*arguments, **_):
    sys.exit(f"a connection was tried: {arguments}")


# Before the imports, which must not connect either.
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

import numpy as np  # noqa: E402

from event_ops.discover import operators  # noqa: E402
from event_ops_harness.networks import cuba  # noqa: E402

if __name__ == "__main__":
    figure, *names = sys.argv[1:]
    for operator in (x for x in operators() if x.name in names):
        args, kwargs = operator.tagged("conformance")[0].make(
            np.random.default_rng(0), operator.dtypes[0], "int32"
        )
        operator.function(*args, **kwargs)
    sys.exit(cuba.main(["--neurons", "400", "--seconds", "0.05", "--output", figure, "--no-progress"]))
