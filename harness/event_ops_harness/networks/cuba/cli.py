"""The CUBA network as a program."""

from collections.abc import Sequence
from typing import Final

from event_ops_harness.networks.balanced.cli import Network, run_program
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import OPERATORS, catalog_step, initial_state, on_device
from event_ops_harness.networks.cuba.sharded import Blocks

CUBA: Final = Network(
    "cuba",
    CubaParameters(),
    OPERATORS,
    catalog_step,
    initial_state,
    on_device,
    Blocks,
    fused="event_ops_harness.networks.cuba.fused",
)


def main(argv: Sequence[str] | None = None) -> int:
    return run_program(CUBA, argv)
