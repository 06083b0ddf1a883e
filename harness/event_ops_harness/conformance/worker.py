"""Check the cells that another process asks for; `processes` starts this program."""

import importlib
import json
import socket

import jax

from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.platforms import emulate
from event_ops_harness.conformance.properties import PROPERTIES
from event_ops_harness.results import SKIPPED


def main(number: str, settings: str, emulation: str) -> None:
    """Answer each line of the socket `number`, a cell, by a line with its status and the reason."""
    for name, value in json.loads(settings).items():
        if jax.config.values.get(name) != value:
            jax.config.update(name, value)
    if settings_of_gpu := json.loads(emulation):
        emulate(settings_of_gpu)
    with socket.socket(fileno=int(number)) as line, line.makefile("rw") as lines:
        for request in lines:
            print(json.dumps(_answer(*json.loads(request))), file=lines, flush=True)


def _answer(
    module: str, index: int, case: int, backend: str, dtype: str, index_dtype: str, name: str
) -> tuple[str, str]:
    try:
        operator = importlib.import_module(module).OPERATORS[index]
    except ImportError as error:
        return SKIPPED, f"not looked at: another process cannot import {module}: {error}"
    prop = next(candidate for candidate in PROPERTIES if candidate.name == name)
    outcome = look_at(Cell(operator, backend, operator.cases[case], dtype, index_dtype, prop), module)
    return outcome.status, outcome.reason
