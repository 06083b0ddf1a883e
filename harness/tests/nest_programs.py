"""Simulations that tests ask NEST for, in a Python that has it."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def ask_nest(simulation: str, request: dict[str, Any]) -> Any:
    """Return the answer of a simulation of `in_nest.py`; skip where no Python with NEST is known."""
    python = os.environ.get("CUBA_RIVALS_PYTHON", sys.executable if find_spec("nest") else None)
    if python is None:
        pytest.skip("nest-simulator is not installed, and CUBA_RIVALS_PYTHON names no Python that has it")
    command = [python, str(Path(__file__).with_name("in_nest.py")), simulation]
    ended = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])
