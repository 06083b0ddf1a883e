"""Starting the programs of the scale-out tests: processes of their own, that are all gone at the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from event_ops_harness.networks.shared.processes import LOOPBACK, free_port

SECONDS = 300
PRODUCTS = Path(__file__).with_name("scale_out_products.py")
ENDLESS = Path(__file__).with_name("scale_out_endless.py")


@contextmanager
def started(commands: Sequence[Sequence[str]]) -> Iterator[list[subprocess.Popen[str]]]:
    """`python` with these arguments, one process each, on CPU devices."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    children = [subprocess.Popen([sys.executable, *map(str, words)], **pipes) for words in commands]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
            child.communicate()


def outputs(commands: Sequence[Sequence[str]]) -> list[str]:
    """What each writes; all have to end well."""
    with started(commands) as children:
        texts = [child.communicate(timeout=SECONDS) for child in children]
        for child, (_, errors) in zip(children, texts, strict=True):
            assert child.returncode == 0, errors
    return [text for text, _ in texts]


def on_loopback(processes: int) -> tuple[str, list[int]]:
    """Where the processes meet, and their numbers."""
    return f"{LOOPBACK}:{free_port()}", list(range(processes))


def lose(child: subprocess.Popen[str], how: signal.Signals) -> float:
    """Kill a process, as a kernel does that is out of memory, or stop it so that it hangs; when it was."""
    child.send_signal(how)
    if how == signal.SIGKILL:
        child.wait()
    return time.monotonic()
