"""Start a simulator in a separate process (and environment), and ask it for measurements.

Its program, the worker, builds the network once and then simulates on demand, so that a benchmark can
interleave the rivals, and no build time is ever measured:

    argument:  one JSON object: the network, steps, seed, threads
    stdout:    one line {"ready": {...versions and settings...}}
    stdin:     one line per wish to simulate `steps` time steps
    stdout:    one line {"seconds": wall clock of the loop alone, "spikes": count}

A worker goes on where it stopped, or, as Brian2 has to, repeats the same stretch.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

# How the last line of a traceback begins.
ERROR = re.compile(r"[A-Za-z_.]*(Error|Exception|Exit)\b")


class WorkerError(RuntimeError):
    """A worker ended early; the message is the reason that it gave."""


@dataclass(frozen=True)
class Rival:
    """Name a simulator of a network, and say how to start it."""

    name: str
    program: tuple[str, ...]  # arguments of its Python
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    ours: bool = False  # runs in this interpreter


def keep_to_cores(process: int, threads: int) -> None:
    """Keep a process that has just started on `threads` cores, where the system can."""
    # From outside, at once: Python code between fork and exec is not safe in a process that runs JAX.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process, sorted(os.sched_getaffinity(0))[-threads:])


class Worker:
    """Run a rival. Raises WorkerError, with the error that it printed, when it cannot start."""

    def __init__(self, rival: Rival, python: str, request: dict[str, Any]) -> None:
        argument = json.dumps({**request, **rival.settings})
        self.stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed in close()
        self.process = subprocess.Popen(
            [sys.executable if rival.ours else python, *rival.program, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )
        keep_to_cores(self.process.pid, request["threads"])
        try:
            self.versions: dict[str, Any] = self.reply()["ready"]
        except WorkerError:
            self.close()
            raise

    def run(self, wish: object = "") -> dict[str, float]:
        """Simulate once, or fulfil a wish of one line; return {"seconds": ..., "spikes": ...}."""
        assert self.process.stdin
        self.process.stdin.write(f"{wish}\n")
        self.process.stdin.flush()
        return self.reply()

    def reply(self) -> dict[str, Any]:
        """Return the next line that is JSON: simulators print banners, too."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        self.process.wait()
        self.stderr.seek(0)
        errors = [line.strip() for line in self.stderr if ERROR.match(line)]
        raise WorkerError(errors[-1] if errors else f"exit code {self.process.returncode}")

    def close(self) -> None:
        """End the input, at which the worker ends."""
        self.process.communicate()
        self.stderr.close()
