"""Read the JSON files of a results folder, where they come from, and which of them are missing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from event_ops_harness.report.benchmarks import COMMANDS, MATRIX, benchmark

# Lists of objects that a file must have; any other file is one of pytest-benchmark.
_LISTS: Final = {
    MATRIX: ("cells", "rows"),
    "microcircuit_statistics": ("rows",),
    "gpu": ("steps",),
    "gpu_counters": ("rows",),
}
_MACHINE: Final = ("cpu", "cores", "system", "device")


@dataclass(frozen=True)
class Missing:
    """Hold an input that is not on the page, the reason, and the command that writes it."""

    name: str
    reason: str
    command: str


@dataclass(frozen=True)
class Inputs:
    """Hold the files by name, without `.json`, in the order of the page; and the missing ones."""

    files: Mapping[str, Mapping[str, Any]]
    missing: tuple[Missing, ...]

    def named(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Return the inputs of one benchmark: `cuba` and `cuba_400000` are both of `cuba`."""
        return {key: value for key, value in self.files.items() if benchmark(key) == name}


def read(folder: Path) -> Inputs:
    """Read everything in `folder`; a file that cannot be used counts as missing, with the reason."""
    order = {name: position for position, name in enumerate(COMMANDS)}
    paths = sorted(folder.glob("*.json"), key=lambda p: (order.get(benchmark(p.stem), len(order)), p.stem))
    files: dict[str, Mapping[str, Any]] = {}
    missing: list[Missing] = []
    for path in paths:
        content = _content(path)
        if isinstance(content, str):
            missing.append(Missing(path.name, content, COMMANDS.get(benchmark(path.stem), "")))
        else:
            files[path.stem] = content
    present = {benchmark(path.stem) for path in paths}
    missing += [Missing(f"{x}.json", "is not there", COMMANDS[x]) for x in COMMANDS if x not in present]
    return Inputs(files, tuple(missing))


def _content(path: Path) -> Mapping[str, Any] | str:
    """Return the content of the file, or why it cannot be used."""
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        return f"is not JSON: {error}"
    lists = _LISTS.get(benchmark(path.stem), ("benchmarks",))
    if not isinstance(content, dict):
        return f"holds a {type(content).__name__}; expected an object with {' and '.join(lists)}"
    for key in lists:
        value = content.get(key)
        items = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            return f"has no {key!r} that are objects"
    return content


def environment(inputs: Inputs) -> dict[str, Any]:
    """Return the machine and the versions that come first in the inputs, and where each input is from."""
    common: dict[str, str] = {}
    for content in inputs.files.values():
        common = machine(content) | common
    return {
        "machine": {key: common[key] for key in _MACHINE if key in common},
        "versions": {key: value for key, value in common.items() if key not in _MACHINE},
        "sources": [_source(name, content, common) for name, content in inputs.files.items()],
    }


def machine(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the machine and the versions that a file names; details of a plain run are left out."""
    recorded = content.get("machine_info", content.get("machine"))
    facts = dict(recorded) if isinstance(recorded, dict) else {}
    if "device" in content:
        facts["device"] = content["device"]
    return {key: str(value) for key, value in facts.items() if not isinstance(value, dict | list)}


def _source(name: str, content: Mapping[str, Any], common: Mapping[str, str]) -> dict[str, str]:
    """Describe an input; `differs` names the parts of its machine and versions that are not as at the top."""
    specs = machine(content)
    differs = ", ".join(f"{key} {value}" for key, value in specs.items() if common[key] != value)
    date = str(content.get("datetime", content.get("date", "")))[: len("2026-01-31")]
    commit_info = content.get("commit_info") or {"id": content.get("commit")}
    commit = str(commit_info.get("id") or "")[:7] + (", with changes" if commit_info.get("dirty") else "")
    command = str(content.get("command", ""))
    return {"name": f"{name}.json", "command": command, "date": date, "commit": commit, "differs": differs}
