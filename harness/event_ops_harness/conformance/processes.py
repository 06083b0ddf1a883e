"""Check cells in child processes, which have the variables that a property needs, and may die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import jax

from event_ops.discover import Operator
from event_ops_harness.conformance.cell import Cell
from event_ops_harness.conformance.platforms import emulation
from event_ops_harness.conformance.properties import APART, BOUNDS, FLAGS
from event_ops_harness.conformance.report import Outcome, explain
from event_ops_harness.results import FAILED, SKIPPED

# The child imports from where this process does: paths that pytest adds are in no variable.
WORKER: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from event_ops_harness.conformance.worker import main
main(*sys.argv[2:])
"""


class ProcessEndedError(Exception):
    """Report a process that ended while it checked a cell: how, and the likely reason."""


class Place(NamedTuple):
    """Name the entry of a module by which child processes find an operator: `OPERATORS[index]`."""

    module: str
    index: int

    @classmethod
    def of(cls, operator: Operator) -> Place | None:
        """Find an operator; return None if no module but the main program lists it."""
        for name, module in list(sys.modules.items()):
            listed = getattr(module, "__dict__", {}).get("OPERATORS")
            if name != "__main__" and isinstance(listed, list | tuple):
                for index, candidate in enumerate(listed):
                    if candidate is operator:
                        return cls(name, index)
        return None


class Processes:
    """Two processes that check cells, one with the variables `APART`; each starts when it is needed."""

    def __init__(self) -> None:
        self._begun: dict[bool, _Process] = {}
        self._deadly: dict[tuple[Place, str], str] = {}  # by operator and backend, the first cell

    def end(self) -> None:
        """End the processes; the next cell starts a new one."""
        for process in self._begun.values():
            process.end()
        self._begun.clear()

    def look_at(self, cell: Cell, place: Place) -> Outcome:
        """Check a cell and return its outcome; the cell fails if the process ends.

        After that, only the bounds of that operator on that backend are checked.
        """
        first = self._deadly.get((place, cell.backend))
        if first is not None and cell.prop is not BOUNDS:
            return Outcome(cell, SKIPPED, f"not looked at: the process did not survive {first}")
        try:
            return self._ask(cell, place)
        except ProcessEndedError as error:
            explained = ProcessEndedError(f"{error}{self._found_by_checks(cell, place)}")
            return Outcome(cell, FAILED, explain(cell, explained, place.module))

    def _ask(self, cell: Cell, place: Place) -> Outcome:
        apart = cell.prop.apart
        if apart not in self._begun:
            self._begun[apart] = _Process(APART if apart else {})
        try:
            return self._begun[apart].look_at(cell, place)
        except ProcessEndedError:
            del self._begun[apart]
            self._deadly[place, cell.backend] = cell.id
            raise

    def _found_by_checks(self, cell: Cell, place: Place) -> str:
        """Return the findings of canaries and index checks in the call that a process did not survive."""
        if cell.prop is BOUNDS or cell.backend not in (BOUNDS.backends or ()):
            return ""
        try:
            outcome = self._ask(replace(cell, prop=BOUNDS), place)
        except ProcessEndedError as error:
            return f"\n  with index checks and canaries, too: {error}"
        if outcome.status == FAILED:
            # The second line of a reason is the error: see `explain`.
            return f"\n  with index checks and canaries: {outcome.reason.splitlines()[1].strip()}"
        return "\n  with index checks and canaries this call stays in bounds; one before it may not"


class _Process:
    def __init__(self, variables: Mapping[str, str]) -> None:
        environment = os.environ | dict(variables)
        if FLAGS in variables:  # behind the user's
            environment[FLAGS] = f"{os.environ.get(FLAGS, '')} {variables[FLAGS]}".strip()
        # Not standard output, on which kernels and libraries may print.
        ours, theirs = socket.socketpair()
        with ours, theirs:
            number = theirs.fileno()
            words = (json.dumps(sys.path), str(number), json.dumps(_settings()), json.dumps(emulation()))
            command = [sys.executable, "-c", WORKER, *words]
            self._process = subprocess.Popen(command, env=environment, pass_fds=[number])
            self._line = ours.makefile("rw")

    def look_at(self, cell: Cell, place: Place) -> Outcome:
        """Ask for a cell's outcome; raise ProcessEndedError where none arrives."""
        case = cell.operator.cases.index(cell.case)
        request = [*place, case, cell.backend, cell.dtype, cell.index_dtype, cell.prop.name]
        with contextlib.suppress(ConnectionError):  # it has ended
            print(json.dumps(request), file=self._line, flush=True)
            if answer := self._line.readline():
                return Outcome(cell, *json.loads(answer))
        self.end()
        raise ProcessEndedError(_how(self._process.returncode))

    def end(self) -> None:
        """Close the connection, which ends the process, and wait for its end."""
        with contextlib.suppress(ConnectionError):
            self._line.close()
        self._process.wait()


def _settings() -> dict[str, Any]:
    """Return JAX's configuration, as far as JSON can hold it."""
    return {name: x for name, x in jax.config.values.items() if isinstance(x, bool | int | float | str)}


def _how(code: int) -> str:
    if code >= 0:
        return f"the process that looked at it ended with status {code}; its standard error may say why"
    return (
        f"the process that looked at it was ended by {signal.Signals(-code).name}: a kernel has probably "
        "read or written out of bounds, in this cell or in one before it"
    )
