"""The COBA network as a program."""

from collections.abc import Sequence
from typing import Final

from event_ops_harness.networks.balanced.cli import Network, run_program
from event_ops_harness.networks.coba.model import CobaParameters
from event_ops_harness.networks.coba.network import OPERATORS, catalog_step, initial_state, on_device
from event_ops_harness.networks.coba.sharded import Blocks

COBA: Final = Network("coba", CobaParameters(), OPERATORS, catalog_step, initial_state, on_device, Blocks)


def main(argv: Sequence[str] | None = None) -> int:
    return run_program(COBA, argv)
